package syscalls

import "golang.org/x/sys/unix"

// What a system call did with its arguments: enum what of bpf/include/touch.h.
const (
	whatRead = 1 + iota
	whatWrite
	whatSendTo
	whatSendFile
	whatSplice
	whatOpen
	whatOpenAt
	whatConnect
	whatAccept
	whatListen
	whatExec
	whatExecAt
	whatSendMsg
	whatSendMMsg
	whatRecvMMsg
)

// whats are the calls that touch files and sockets. Calls that the running
// architecture lacks are in whatsArch. io_uring does its work outside of calls: those
// are only counted.
var whats = map[uint8][]int{
	whatRead: {
		unix.SYS_READ, unix.SYS_PREAD64, unix.SYS_READV, unix.SYS_PREADV, unix.SYS_PREADV2, unix.SYS_RECVFROM, unix.SYS_RECVMSG,
		unix.SYS_GETDENTS64,
	},
	whatWrite:    {unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_PWRITEV2},
	whatSendTo:   {unix.SYS_SENDTO},
	whatSendFile: {unix.SYS_SENDFILE},
	whatSplice:   {unix.SYS_SPLICE, unix.SYS_COPY_FILE_RANGE},
	whatOpenAt:   {unix.SYS_OPENAT, unix.SYS_OPENAT2},
	whatConnect:  {unix.SYS_CONNECT},
	whatAccept:   {unix.SYS_ACCEPT, unix.SYS_ACCEPT4},
	whatListen:   {unix.SYS_LISTEN},
	whatExec:     {unix.SYS_EXECVE},
	whatExecAt:   {unix.SYS_EXECVEAT},
	whatSendMsg:  {unix.SYS_SENDMSG},
	whatSendMMsg: {unix.SYS_SENDMMSG},
	whatRecvMMsg: {unix.SYS_RECVMMSG},
}

// What is the table for the running architecture, by system call number.
func What() (t [512]uint8) {
	for _, m := range []map[uint8][]int{whats, whatsArch} {
		for w, calls := range m {
			for _, nr := range calls {
				t[nr] = w
			}
		}
	}
	return t
}
