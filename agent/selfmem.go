package agent

import (
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// releaseEvery is how often memory is given back. Half a millisecond each time, with what
// is needed again.
const releaseEvery = 5 * time.Second

// ownUse is what this process itself uses: told once a second, and kept small.
type ownUse struct {
	log      *slog.Logger
	cpu      time.Duration // until the last second
	released time.Time     // when memory was given back
}

func newOwnUse(log *slog.Logger) *ownUse { return &ownUse{log: log} }

func (o *ownUse) follower() follower {
	return follower{
		start: func(*beginning) { o.releaseCode(time.Now()) },
		second: func(s *second) {
			cpu, rss := usage()
			s.status.CPU, s.status.RSS = float64(cpu-o.cpu)/float64(s.span), rss
			o.cpu = cpu
			o.releaseCode(s.now)
		},
	}
}

// releaseCode gives back the memory of this program's own code that it does not run all the
// time: most of its start, and what a diagnosis now and then touched.
func (o *ownUse) releaseCode(now time.Time) {
	if now.Sub(o.released) < releaseEvery {
		return
	}
	o.released = now
	if err := dropText(); err != nil {
		o.log.Debug("cannot give back memory of the program's own code", "err", err)
	}
}

// usage is the CPU time and the peak resident memory of this process.
func usage() (time.Duration, uint64) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), uint64(u.Maxrss) << 10
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
