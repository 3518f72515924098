package sched

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/event"
)

// What a class table may hold besides an event.Class: CLASS_BY_FD and
// CLASS_BY_FILE of capture/bpf/include/event.h.
const (
	byFD   = 32 // the file behind the first argument decides
	byFile = 33 // block I/O if the task sleeps uninterruptibly
)

// classes says, by system call number, what a thread that sleeps in the call
// waits for. Calls that the running architecture lacks are in classesArch.
var classes = map[uint8][]int{
	uint8(event.Futex):   {unix.SYS_FUTEX, sysFutexWaitv, sysFutexWake, sysFutexWait, sysFutexRequeue},
	uint8(event.BlockIO): {unix.SYS_IO_GETEVENTS, unix.SYS_IO_PGETEVENTS}, // which sleep as if for no I/O
	uint8(event.Network): {
		unix.SYS_CONNECT, unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_SENDTO, unix.SYS_RECVFROM,
		unix.SYS_SENDMSG, unix.SYS_RECVMSG, unix.SYS_RECVMMSG, unix.SYS_SENDMMSG,
	},
	uint8(event.Pipe): {
		unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MQ_TIMEDSEND,
		unix.SYS_MQ_TIMEDRECEIVE,
	},
	uint8(event.Poll):  {unix.SYS_PSELECT6, unix.SYS_PPOLL, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2},
	uint8(event.Sleep): {unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_RT_SIGSUSPEND, unix.SYS_RT_SIGTIMEDWAIT},
	uint8(event.Ioctl): {unix.SYS_IOCTL},
	byFD: {
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREADV,
		unix.SYS_PWRITEV,
		unix.SYS_PREADV2, unix.SYS_PWRITEV2, unix.SYS_SENDFILE, unix.SYS_SPLICE, unix.SYS_TEE, unix.SYS_VMSPLICE,
	},
	byFile: {
		unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_CLOSE, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNC, unix.SYS_SYNCFS,
		unix.SYS_SYNC_FILE_RANGE, unix.SYS_MSYNC,
		unix.SYS_FTRUNCATE, unix.SYS_TRUNCATE, unix.SYS_FALLOCATE, unix.SYS_GETDENTS64, unix.SYS_MKDIRAT, unix.SYS_UNLINKAT,
		unix.SYS_RENAMEAT2,
		unix.SYS_STATX, unix.SYS_FSTAT, unix.SYS_FACCESSAT, unix.SYS_EXECVE, unix.SYS_EXECVEAT,
		unix.SYS_COPY_FILE_RANGE, unix.SYS_IO_SETUP, unix.SYS_IO_SUBMIT, unix.SYS_IO_URING_ENTER,
		unix.SYS_READAHEAD,
	},
}

// System calls newer than golang.org/x/sys, the same number everywhere
// (include/uapi/asm-generic/unistd.h).
const (
	sysFutexWaitv   = 449
	sysFutexWake    = 454
	sysFutexWait    = 455
	sysFutexRequeue = 456
)

// Classes is the table for the running architecture: system call number to
// class, event.Other where nothing better is known.
func Classes() (t [512]uint8) {
	for i := range t {
		t[i] = uint8(event.Other)
	}
	for _, m := range []map[uint8][]int{classes, classesArch} {
		for c, calls := range m {
			for _, nr := range calls {
				t[nr] = c
			}
		}
	}
	return t
}

// onFile are calls whose first argument is a descriptor, beyond those whose class
// depends on it or is event.Network.
var onFile = []int{
	unix.SYS_IOCTL, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNCFS, unix.SYS_SYNC_FILE_RANGE, unix.SYS_FTRUNCATE,
	unix.SYS_FALLOCATE, unix.SYS_GETDENTS64, unix.SYS_FSTAT, unix.SYS_CLOSE, unix.SYS_COPY_FILE_RANGE, unix.SYS_READAHEAD,
	unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2,
}

// TakesFile reports whether a system call's first argument is a descriptor, of
// those that classes knows.
func TakesFile(nr int) bool {
	return slices.Contains(onFile, nr) || slices.Contains(classes[byFD], nr) ||
		slices.Contains(classes[uint8(event.Network)], nr)
}
