package agent

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// slimEvery is how often memory is given back. Half a millisecond each time, with what
// is needed again.
const slimEvery = 5 * time.Second

// releaseCode gives back the memory of this program's own code that it does not run all the
// time: most of its start, and what a diagnosis now and then touched.
func (r *run) releaseCode(now time.Time) {
	if now.Sub(r.slimmed) < slimEvery {
		return
	}
	r.slimmed = now
	if err := dropText(); err != nil {
		r.log.Debug("cannot give back memory of the program's own code", "err", err)
	}
}

// dropText gives back the memory of this program's own code and constants. What is
// used again comes back from the page cache. What the program may write to stays.
func dropText() error {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(maps)) {
		from, to, ok := textOf(line, self)
		if !ok {
			continue
		}
		if _, _, e := unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED); e != 0 {
			return os.NewSyscallError("madvise", e)
		}
	}
	return nil
}

// textOf reads a line of /proc/self/maps: the addresses, if it is of the file at path
// and cannot be written to. The fields are those of proc_pid_maps(5).
func textOf(line, path string) (from, to uintptr, ok bool) {
	f := strings.Fields(line)
	if len(f) != 6 || f[5] != path || !strings.HasPrefix(f[1], "r-") || !strings.HasSuffix(f[1], "p") {
		return 0, 0, false
	}
	a, b, ok := strings.Cut(f[0], "-")
	if !ok {
		return 0, 0, false
	}
	x, err := strconv.ParseUint(a, 16, 64)
	y, err2 := strconv.ParseUint(b, 16, 64)
	return uintptr(x), uintptr(y), err == nil && err2 == nil && y > x
}
