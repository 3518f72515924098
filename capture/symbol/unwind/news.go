package unwind

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/host/proc"
)

// News is what an Unwinder has found out about a process. With Code: its executable
// mappings. With File: an open file of such a mapping, which the reader closes. With
// neither: the process is to be forgotten, because it has ended or executes another
// program.
type News struct {
	PID  int
	Code []proc.Mapping
	File *os.File
	Of   proc.Mapping // what File is of
}

// News appends to list what was found out since the last call. Addresses may be named
// late: on a busy machine, only after the process has ended, when it can no longer be
// read.
func (u *Unwinder) News(list []News) []News {
	list = append(list, u.news...)
	clear(u.news)
	u.news = u.news[:0]
	return list
}

// opened passes on a descriptor of a file that is read for the first time.
func (u *Unwinder) opened(pid int, m proc.Mapping, f *os.File) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return // out of descriptors: it can be opened as long as the process lives
	}
	u.news = append(u.news, News{PID: pid, File: os.NewFile(uintptr(fd), m.Path), Of: m})
}
