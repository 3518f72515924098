package syscalls

import "golang.org/x/sys/unix"

// What a system call did with its arguments: enum what of capture/bpf/include/touch.h.
const (
	accessRead = 1 + iota
	accessWrite
	accessSendTo
	accessSendFile
	accessSplice
	accessOpen
	accessOpenAt
	accessConnect
	accessAccept
	accessListen
	accessExec
	accessExecAt
	accessSendMsg
	accessSendMMsg
	accessRecvMMsg
)

// accessKinds are the calls that touch files and sockets. Calls that the running
// architecture lacks are in accessKindsArch. io_uring does its work outside of calls: those
// are only counted.
var accessKinds = map[uint8][]int{
	accessRead: {
		unix.SYS_READ, unix.SYS_PREAD64, unix.SYS_READV, unix.SYS_PREADV, unix.SYS_PREADV2, unix.SYS_RECVFROM,
		unix.SYS_RECVMSG,
		unix.SYS_GETDENTS64,
	},
	accessWrite:    {unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_PWRITEV2},
	accessSendTo:   {unix.SYS_SENDTO},
	accessSendFile: {unix.SYS_SENDFILE},
	accessSplice:   {unix.SYS_SPLICE, unix.SYS_COPY_FILE_RANGE},
	accessOpenAt:   {unix.SYS_OPENAT, unix.SYS_OPENAT2},
	accessConnect:  {unix.SYS_CONNECT},
	accessAccept:   {unix.SYS_ACCEPT, unix.SYS_ACCEPT4},
	accessListen:   {unix.SYS_LISTEN},
	accessExec:     {unix.SYS_EXECVE},
	accessExecAt:   {unix.SYS_EXECVEAT},
	accessSendMsg:  {unix.SYS_SENDMSG},
	accessSendMMsg: {unix.SYS_SENDMMSG},
	accessRecvMMsg: {unix.SYS_RECVMMSG},
}

// AccessKinds is the table for the running architecture, by system call number.
func AccessKinds() (t [512]uint8) {
	for _, m := range []map[uint8][]int{accessKinds, accessKindsArch} {
		for w, calls := range m {
			for _, nr := range calls {
				t[nr] = w
			}
		}
	}
	return t
}
