// Package privilege lets the program trace with capabilities and yet open what its user names with the
// user's own rights only. A program that got capabilities from its file (setcap) or from systemd
// (AmbientCapabilities) lowers them first of all, in all threads. What opens no file stays raised while a command
// traces; what does is raised in one thread, for one function, to reach a process that is traced: With and For.
//
// It stands beside the readers of the machine, which all use it, and keeps no state: what a thread may is asked of
// the kernel.
package privilege

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Scope says whose processes the user may trace.
type Scope int

// The scopes.
const (
	// Given: what root, or who gave the process its capabilities (systemd), may.
	Given Scope = iota
	// Group: the program's file has capabilities, and only root and members of its group can execute it. They may
	// trace everybody's processes.
	Group
	// Own: everybody can execute the file, so each may trace only what the kernel lets a user look at without
	// capabilities (ptrace(2), "Ptrace access mode checking").
	Own
)

// tracing are the capabilities of tracing that open no file and no process, so that they may stay raised while
// programs are loaded, maps are read (kernels before 5.19 ask at each reading), and perf rings are mapped.
// CAP_SYS_ADMIN stands for the first two on kernels before 5.8, and for deleted files.
const tracing = 1<<unix.CAP_BPF | 1<<unix.CAP_PERFMON | 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_SYS_RESOURCE |
	1<<unix.CAP_SYS_NICE | 1<<unix.CAP_IPC_LOCK | 1<<unix.CAP_SYSLOG | 1<<unix.CAP_NET_BIND_SERVICE

// sets are a thread's capabilities.
type sets struct{ effective, permitted, inheritable uint64 }

func get() (sets, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var d [2]unix.CapUserData
	if err := unix.Capget(&header, &d[0]); err != nil {
		return sets{}, os.NewSyscallError("capget", err)
	}
	join := func(low, high uint32) uint64 { return uint64(low) | uint64(high)<<32 }
	return sets{
		join(d[0].Effective, d[1].Effective), join(d[0].Permitted, d[1].Permitted),
		join(d[0].Inheritable, d[1].Inheritable),
	}, nil
}

func (s sets) data() [2]unix.CapUserData {
	var d [2]unix.CapUserData
	for i := range d {
		shift := 32 * i
		d[i] = unix.CapUserData{
			Effective: uint32(s.effective >> shift), Permitted: uint32(s.permitted >> shift),
			Inheritable: uint32(s.inheritable >> shift),
		}
	}
	return d
}

// set changes the calling thread's.
func (s sets) set() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	d := s.data()
	return os.NewSyscallError("capset", unix.Capset(&header, &d[0]))
}

// setAll changes those of all threads, and of those to come. Without inheritable capabilities the kernel also
// empties the ambient set: programs that this one starts get none.
func (s sets) setAll() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	d := s.data()
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)),
		uintptr(unsafe.Pointer(&d[0])), 0)
	runtime.KeepAlive(&header)
	runtime.KeepAlive(&d)
	if errno == unix.ENOTSUP {
		return errors.New("this build cannot lower its capabilities (it uses cgo); build it with CGO_ENABLED=0")
	}
	if errno != 0 {
		return os.NewSyscallError("capset", errno)
	}
	return nil
}

// Lower lowers the effective set to nothing in all threads, unless the user is root. What the user may not trace is
// given up for good. It must be called before anything that the user chose is looked at.
func Lower() (Scope, error) {
	if os.Getuid() != os.Geteuid() {
		return Own, errors.New("the program is set-user-ID; take that from it (chmod u-s), and see ingero check")
	}
	if os.Getuid() == 0 {
		return Given, nil
	}
	s, err := get()
	if err != nil || s == (sets{}) {
		return Given, err
	}
	scope := Given
	if ambient, err := hasAmbient(); err != nil {
		return Own, err
	} else if !ambient && s.permitted != 0 {
		scope = scopeOf("/proc/self/exe")
	}
	if scope == Own {
		s.permitted &= tracing
	}
	s.effective, s.inheritable = 0, 0
	return scope, s.setAll()
}

// hasAmbient reports whether who started the program gave it capabilities. The kernel empties the ambient set where
// it takes capabilities from a file.
func hasAmbient() (bool, error) {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		switch r, err := unix.PrctlRetInt(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_IS_SET, c, 0, 0); {
		case errors.Is(err, unix.EINVAL): // an older kernel does not know it
			continue
		case err != nil:
			return false, os.NewSyscallError("prctl", err)
		case r == 1:
			return true, nil
		}
	}
	return false, nil
}

// scopeOf is the scope that a program's file with capabilities gives. He who owns the file could let others execute
// it, or not, as he likes; only root's word counts.
func scopeOf(path string) Scope {
	info, err := os.Stat(path)
	if err != nil {
		return Own
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	const others = 0o001
	if !ok || st.Uid != 0 || info.Mode()&others != 0 {
		return Own
	}
	return Group
}

// Raise raises, in all threads, what tracing needs and opens no file.
func Raise() error {
	s, err := get()
	if err != nil || os.Getuid() == 0 || s.permitted&tracing == s.effective {
		return err
	}
	s.effective = s.permitted & tracing
	return s.setAll()
}

// Drop gives up all capabilities of all threads for good, unless the user is root.
func Drop() error {
	s, err := get()
	if err != nil || os.Getuid() == 0 || s == (sets{}) {
		return err
	}
	return sets{}.setAll()
}

// With calls f, with all capabilities that the program has. f must not start a goroutine, and must not open a path
// that the user names. It costs a system call, and two more where capabilities are lowered. No other thread is
// raised: Go makes threads from one that has none (LockOSThread starts it).
func With(f func() error) error {
	s, err := get()
	if err != nil || s.effective == s.permitted {
		return f()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if s, err = get(); err != nil { // it may have been another thread before
		return f()
	}
	raised := s
	raised.effective = s.permitted
	if err := raised.set(); err != nil {
		return f()
	}
	defer func() {
		if err := s.set(); err != nil {
			panic(fmt.Sprintf("capabilities cannot be lowered again: %v", err)) // lowering is always permitted
		}
	}()
	return f()
}
