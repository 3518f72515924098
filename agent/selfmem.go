package agent

import (
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// releaseEvery is how often memory is released. It takes half a millisecond, including reloading
// what is needed again.
const releaseEvery = 5 * time.Second

// ownUse measures once a second this process's own CPU time, with that of the process that reads GPUs,
// and its memory, and keeps it small.
type ownUse struct {
	log      *slog.Logger
	cpu      time.Duration // at the end of the last second
	released time.Time     // when memory was last released
}

func newOwnUse(log *slog.Logger) *ownUse { return &ownUse{log: log} }

func (o *ownUse) follower() follower {
	return follower{
		start: func(*beginning) { o.releaseCode(time.Now()) },
		second: func(s *second) {
			cpu, rss := usage()
			cpu += s.status.GPUReader
			s.status.CPU, s.status.RSS = float64(cpu-o.cpu)/float64(s.span), rss
			o.cpu = cpu
			o.releaseCode(s.now)
		},
	}
}

// releaseCode releases the memory of this program's code that it rarely runs: most of its start,
// and the code of an occasional diagnosis.
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

// dropText releases the memory of this program's code and constants. Pages that are used again are
// loaded from the page cache. Writable pages stay.
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

// textOf parses a line of /proc/self/maps. It returns the addresses if the mapping is of the file
// at path and not writable. The fields are those of proc_pid_maps(5).
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
