package privilege

import "golang.org/x/sys/unix"

// ReadMemory reads a traced process's memory from addr on into b, and returns how much of it could be read.
func ReadMemory(pid int, addr uint64, b []byte) (int, error) {
	return ReadParts(pid, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}, b)
}

// ReadParts reads several parts, one after the other, into b, up to the first that cannot be read.
func ReadParts(pid int, parts []unix.RemoteIovec, b []byte) (n int, err error) {
	if len(b) == 0 {
		return 0, nil
	}
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	err = With(func() error {
		n, err = unix.ProcessVMReadv(pid, local, parts, 0)
		return err
	})
	return n, err
}
