// Package tracers finds other tracers of this program on the machine: each call of a program that two of them trace
// pays twice. It leaves no files and holds no locks, which would not be seen across users and containers. It looks at
// processes, and at the programs in the kernel, which belong to no namespace.
package tracers

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/host/proc"
)

// Tracer is a running tracer.
type Tracer struct {
	// PID is its process, 0: it is in a container whose processes this one does not see.
	PID int
	// For is how long it runs.
	For time.Duration
}

// String is such as "pid 4711, since 14:03:05".
func (t Tracer) String() string { return t.describe(time.Now()) }

func (t Tracer) describe(now time.Time) string {
	who := fmt.Sprintf("pid %d", t.PID)
	if t.PID == 0 {
		who = "in another container"
	}
	began := now.Add(-t.For)
	layout := time.TimeOnly
	if t.For > 24*time.Hour {
		layout = "2006-01-02 15:04"
	}
	return who + ", since " + began.Format(layout)
}

// Cost is what it means that there are several.
const Cost = "each call that both trace pays twice"

// Others returns the other tracers, the oldest first. self is this process, which has loaded no programs yet.
func Others(fs proc.FS, self int) []Tracer {
	if list := Seen(fs, self); len(list) > 0 {
		return list
	}
	return hidden(loaded(), sinceBoot())
}

// Seen returns the other tracers among the processes that this one sees, the oldest first.
func Seen(fs proc.FS, self int) []Tracer {
	list := processes(fs, self, sinceBoot())
	slices.SortFunc(list, func(a, b Tracer) int { return -cmp.Compare(a.For, b.For) })
	return list
}

// ticks is USER_HZ, in which /proc has times; 100 on all architectures.
const ticks = 100

// name is that of the program's file.
const name = "ingero"

// processes finds the tracers among the processes that this one sees.
func processes(fs proc.FS, self int, boot time.Duration) (list []Tracer) {
	pids, err := fs.PIDs()
	if err != nil {
		return nil // then nothing is known
	}
	for _, pid := range pids {
		if comm, err := fs.Comm(pid, pid); err != nil || pid == self || comm != name || fs.Ended(pid) {
			continue
		}
		command, err := fs.Command(pid)
		if err != nil || !traces(strings.Fields(command)) {
			continue
		}
		start, err := fs.StartTime(pid)
		if err != nil {
			continue // it has ended
		}
		list = append(list, Tracer{PID: pid, For: max(0, boot-time.Duration(start)*time.Second/ticks)})
	}
	return list
}

// traces reports whether a command line is of "ingero trace", with flags before the command or without.
func traces(words []string) bool {
	if len(words) == 0 || filepath.Base(words[0]) != name {
		return false
	}
	for _, w := range words[1:min(len(words), 5)] {
		if w == "--" || w == "--help" {
			return false
		}
		if w == "trace" {
			return true
		}
	}
	return false
}

// program is a program in the kernel.
type program struct {
	name string
	at   time.Duration // when it was loaded, since boot
}

// Programs that each tracer loads at once. Others may have one of these names, but not all of them.
var ours = []string{"on_waking", "on_fork", "on_exec", "on_exit"}

const (
	// together is within how long a tracer loads its programs.
	together = 2 * time.Second
	// passing is for how long "ingero check" loads programs to try them.
	passing = 5 * time.Second
)

// hidden finds the tracers that have loaded programs.
func hidden(list []program, boot time.Duration) (out []Tracer) {
	slices.SortFunc(list, func(a, b program) int { return cmp.Compare(a.at, b.at) })
	for i := 0; i < len(list); {
		var seen [4]bool
		k := i
		for ; k < len(list) && list[k].at-list[i].at < together; k++ {
			if n := slices.Index(ours, list[k].name); n >= 0 {
				seen[n] = true
			}
		}
		if runs := boot - list[i].at; seen == [4]bool{true, true, true, true} && runs >= passing {
			out = append(out, Tracer{For: runs})
		}
		i = k
	}
	return out
}

// loaded lists the programs of the names in ours, none if this process may not list them (CAP_SYS_ADMIN).
func loaded() (list []program) {
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if err != nil {
			return list
		}
		id = next
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue // it has gone
		}
		if info, err := p.Info(); err == nil && slices.Contains(ours, info.Name) {
			if at, ok := info.LoadTime(); ok {
				list = append(list, program{info.Name, at})
			}
		}
		_ = p.Close() // it was only looked at
	}
}

func sinceBoot() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
