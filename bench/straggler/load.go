package straggler

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// load is what the CPUs did since a moment.
type load struct {
	at        time.Time
	busy, own time.Duration
}

func startLoad() load { return load{time.Now(), busyCPU(), ownCPU()} }

// others is which share of the CPUs, in percent, programs used since then that are not this one or one that it
// started and that has ended.
func (l *load) others() float64 {
	used := (busyCPU() - l.busy) - (ownCPU() - l.own)
	all := time.Since(l.at) * time.Duration(runtime.NumCPU())
	return max(0, 100*used.Seconds()/all.Seconds())
}

// busyCPU is the CPU time that all programs have used: the fields user, nice, system, irq and softirq of
// /proc/stat, which count hundredths of a second (proc_stat(5)).
func busyCPU() (d time.Duration) {
	f, err := os.Open("/proc/stat")
	if err != nil {
		return 0
	}
	defer f.Close() // it was only read
	s := bufio.NewScanner(f)
	if !s.Scan() {
		return 0
	}
	for i, v := range strings.Fields(s.Text()) {
		switch i {
		case 1, 2, 3, 6, 7:
			n, _ := strconv.ParseInt(v, 10, 64) // the kernel writes numbers
			d += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return d
}

// ownCPU is the CPU time of this program, and of those that it waited for with all of theirs.
func ownCPU() (d time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			d += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return d
}
