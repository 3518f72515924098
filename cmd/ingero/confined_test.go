package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// confinable are the system calls that confined knows.
var confinable = map[string]uint32{
	"bpf": unix.SYS_BPF, "perf_event_open": unix.SYS_PERF_EVENT_OPEN, "ptrace": unix.SYS_PTRACE,
}

// confined runs a program under a seccomp filter that refuses system calls, as
// those of containers do: confined CALL,… PROGRAM ARG….
func confined() {
	if err := confine(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "confined:", err)
		os.Exit(125)
	}
}

func confine(calls string, args []string) error {
	runtime.LockOSThread() // the filter is this thread's, and so is the exec
	const loadWord, equal, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K,
		unix.BPF_RET | unix.BPF_K
	const number = 0 // of struct seccomp_data
	filter := []unix.SockFilter{{Code: loadWord, K: number}}
	for name := range strings.SplitSeq(calls, ",") {
		nr, ok := confinable[name]
		if !ok {
			return fmt.Errorf("cannot refuse %q", name)
		}
		filter = append(filter,
			unix.SockFilter{Code: equal, K: nr, Jf: 1},
			unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)})
	}
	filter = append(filter, unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		return err
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, args, os.Environ())
}
