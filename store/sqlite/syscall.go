package sqlite

// System calls by number, those in which threads wait or touch files, sockets
// and processes; any other is shown as its number. From the kernel's
// arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.

// syscallNames is keyed by architecture, as Go and as the kernel name it.
var syscallNames = map[string]map[int]string{
	"amd64": amd64Syscalls, "x86_64": amd64Syscalls,
	"arm64": arm64Syscalls, "aarch64": arm64Syscalls,
}

var amd64Syscalls = map[int]string{
	0: "read", 1: "write", 2: "open", 3: "close", 4: "stat", 5: "fstat", 6: "lstat", 7: "poll", 8: "lseek", 9: "mmap",
	10: "mprotect", 11: "munmap", 12: "brk", 16: "ioctl", 17: "pread64", 18: "pwrite64", 19: "readv", 20: "writev",
	21: "access", 22: "pipe", 23: "select", 24: "sched_yield", 25: "mremap", 26: "msync", 28: "madvise", 34: "pause",
	35: "nanosleep", 40: "sendfile", 41: "socket", 42: "connect", 43: "accept", 44: "sendto", 45: "recvfrom",
	46: "sendmsg", 47: "recvmsg", 48: "shutdown", 49: "bind", 50: "listen", 53: "socketpair", 56: "clone", 57: "fork",
	58: "vfork", 59: "execve", 60: "exit", 61: "wait4", 62: "kill", 65: "semop", 69: "msgsnd", 70: "msgrcv",
	72: "fcntl", 73: "flock", 74: "fsync", 75: "fdatasync", 76: "truncate", 77: "ftruncate", 78: "getdents",
	82: "rename", 83: "mkdir", 84: "rmdir", 85: "creat", 86: "link", 87: "unlink", 128: "rt_sigtimedwait",
	130: "rt_sigsuspend", 149: "mlock", 150: "munlock", 151: "mlockall", 162: "sync", 202: "futex", 208: "io_getevents",
	209: "io_submit", 217: "getdents64", 219: "restart_syscall", 220: "semtimedop", 221: "fadvise64",
	230: "clock_nanosleep", 231: "exit_group", 232: "epoll_wait", 233: "epoll_ctl", 237: "mbind", 242: "mq_timedsend",
	243: "mq_timedreceive", 247: "waitid", 256: "migrate_pages", 257: "openat", 262: "newfstatat", 263: "unlinkat",
	264: "renameat", 270: "pselect6", 271: "ppoll", 275: "splice", 276: "tee", 277: "sync_file_range", 278: "vmsplice",
	279: "move_pages", 281: "epoll_pwait", 285: "fallocate", 288: "accept4", 290: "eventfd2", 291: "epoll_create1",
	293: "pipe2", 295: "preadv", 296: "pwritev", 299: "recvmmsg", 306: "syncfs", 307: "sendmmsg",
	310: "process_vm_readv", 311: "process_vm_writev", 318: "getrandom", 319: "memfd_create", 323: "userfaultfd",
	326: "copy_file_range", 327: "preadv2", 328: "pwritev2", 332: "statx", 333: "io_pgetevents", 425: "io_uring_setup",
	426: "io_uring_enter", 427: "io_uring_register", 435: "clone3", 437: "openat2", 441: "epoll_pwait2",
	449: "futex_waitv",
}

var arm64Syscalls = map[int]string{
	2: "io_submit", 4: "io_getevents", 19: "eventfd2", 20: "epoll_create1", 21: "epoll_ctl", 22: "epoll_pwait",
	25: "fcntl", 29: "ioctl", 32: "flock", 35: "unlinkat", 38: "renameat", 45: "truncate", 46: "ftruncate",
	47: "fallocate", 56: "openat", 57: "close", 59: "pipe2", 61: "getdents64", 62: "lseek", 63: "read", 64: "write",
	65: "readv", 66: "writev", 67: "pread64", 68: "pwrite64", 69: "preadv", 70: "pwritev", 71: "sendfile",
	72: "pselect6", 73: "ppoll", 75: "vmsplice", 76: "splice", 77: "tee", 79: "newfstatat", 80: "fstat", 81: "sync",
	82: "fsync", 83: "fdatasync", 84: "sync_file_range", 93: "exit", 94: "exit_group", 95: "waitid", 98: "futex",
	101: "nanosleep", 115: "clock_nanosleep", 124: "sched_yield", 128: "restart_syscall", 129: "kill",
	133: "rt_sigsuspend", 137: "rt_sigtimedwait", 182: "mq_timedsend", 183: "mq_timedreceive", 188: "msgrcv",
	189: "msgsnd", 192: "semtimedop", 193: "semop", 198: "socket", 199: "socketpair", 200: "bind", 201: "listen",
	202: "accept", 203: "connect", 206: "sendto", 207: "recvfrom", 210: "shutdown", 211: "sendmsg", 212: "recvmsg",
	214: "brk", 215: "munmap", 216: "mremap", 220: "clone", 221: "execve", 222: "mmap", 223: "fadvise64",
	226: "mprotect", 227: "msync", 228: "mlock", 229: "munlock", 230: "mlockall", 233: "madvise", 235: "mbind",
	238: "migrate_pages", 239: "move_pages", 242: "accept4", 243: "recvmmsg", 260: "wait4", 267: "syncfs",
	269: "sendmmsg", 270: "process_vm_readv", 271: "process_vm_writev", 278: "getrandom", 279: "memfd_create",
	282: "userfaultfd", 285: "copy_file_range", 286: "preadv2", 287: "pwritev2", 291: "statx", 292: "io_pgetevents",
	425: "io_uring_setup", 426: "io_uring_enter", 427: "io_uring_register", 437: "openat2", 441: "epoll_pwait2",
	449: "futex_waitv",
}
