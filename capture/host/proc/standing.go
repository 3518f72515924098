package proc

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/privilege"
)

// Children lists the processes that a process has started and that have not been waited for, of limit.Children threads
// at most. It is empty where the kernel does not list them (CONFIG_PROC_CHILDREN).
func (f FS) Children(pid int) (pids []int) {
	threads, err := f.Threads(pid)
	if err != nil {
		return nil
	}
	for _, tid := range threads[:min(len(threads), limit.Children)] {
		b, err := small(f.path(pid, "task", strconv.Itoa(tid), "children"))
		if err != nil {
			continue
		}
		for w := range strings.FieldsSeq(string(b)) {
			if n, err := strconv.Atoi(w); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

// Syscall is the system call that a thread is blocked in, with its arguments; false if it runs, is in none, or if that
// is not permitted.
func (f FS) Syscall(pid, tid int) (nr int, args [6]uint64, ok bool) {
	b, err := small(f.path(pid, "task", strconv.Itoa(tid), "syscall"))
	if err != nil {
		return 0, args, false
	}
	words := strings.Fields(string(b))
	if len(words) < 1+len(args) {
		return 0, args, false
	}
	if nr, err = strconv.Atoi(words[0]); err != nil || nr < 0 {
		return 0, args, false
	}
	for i := range args {
		if args[i], err = strconv.ParseUint(words[1+i], 0, 64); err != nil {
			return 0, args, false
		}
	}
	return nr, args, true
}

// Polled lists the open files that a thread which waits in poll(2) or ppoll(2) may read from once something comes, by
// their names as in OpenFiles; of limit.Polled descriptors.
func (f FS) Polled(pid, tid int) (names []string) {
	nr, args, ok := f.Syscall(pid, tid)
	if !ok || nr != unix.SYS_PPOLL && nr != sysPoll {
		return nil
	}
	const size = int(unsafe.Sizeof(unix.PollFd{}))
	b := make([]byte, size*int(min(args[1], limit.Polled)))
	n, err := privilege.ReadMemory(pid, args[0], b)
	if err != nil {
		return nil
	}
	for b = b[:n]; len(b) >= size; b = b[size:] {
		fd := int(int32(binary.NativeEndian.Uint32(b)))
		if binary.NativeEndian.Uint16(b[4:])&unix.POLLIN == 0 {
			continue
		}
		if name := f.OpenFile(pid, fd); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Switches is how often a thread has left a CPU; false if that cannot be read.
func (f FS) Switches(pid, tid int) (n uint64, ok bool) {
	b, err := small(f.path(pid, "task", strconv.Itoa(tid), "status"))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		if name != "voluntary_ctxt_switches" && name != "nonvoluntary_ctxt_switches" {
			continue
		}
		v, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		if err != nil {
			return 0, false
		}
		n, ok = n+v, true
	}
	return n, ok
}

// Opened reports whether a process has a pipe or another file open, by its name as in OpenFiles: for writing, or for
// reading. Of limit.Descriptors descriptors.
func (f FS) Opened(pid int, name string, writing bool) bool {
	dir := f.path(pid, "fd")
	d, err := privilege.Open(dir)
	if err != nil {
		return false
	}
	fds, _ := d.Readdirnames(limit.Descriptors) // a partial list is used
	d.Close()                                   // read only
	for _, fd := range fds {
		if target, err := privilege.Readlink(filepath.Join(dir, fd)); err != nil || target != name {
			continue
		}
		mode, ok := f.openMode(pid, fd)
		if ok && (mode == unix.O_RDWR || writing == (mode == unix.O_WRONLY)) {
			return true
		}
	}
	return false
}

// openMode is how a process opened a descriptor: os.O_RDONLY, os.O_WRONLY or os.O_RDWR.
func (f FS) openMode(pid int, fd string) (int, bool) {
	b, err := small(f.path(pid, "fdinfo", fd))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "flags:"); ok {
			flags, err := strconv.ParseUint(strings.TrimSpace(v), 8, 32)
			return int(flags) & (os.O_WRONLY | os.O_RDWR), err == nil
		}
	}
	return 0, false
}
