package syscalls

import "golang.org/x/sys/unix"

var whatsArch = map[uint8][]int{
	whatRead: {unix.SYS_GETDENTS},
	whatOpen: {unix.SYS_OPEN, unix.SYS_CREAT},
}
