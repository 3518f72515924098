package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ingero-io/ingero/event"
)

// Where threads run and may run, and how busy CPUs are.

const (
	minUse   = 0.05 // least share of a thread's recorded switches on a CPU that it uses
	maxBound = 2    // with at most so many CPUs a thread needs all of them; else only the one it uses most
	maxBusy  = 50.0 // percent; a CPU that is busier has no room for other threads
)

// cpusOf returns the CPUs that a thread is known to have used, the most used first.
func (ev *evidence) cpusOf(t event.Thread) []uint16 {
	n := map[uint16]int{}
	all := 0
	for _, o := range ev.procs.x.Overlapping(t.TID, ev.from, ev.to) {
		if o.Thread == t {
			n[o.InCPU]++
			all++
		}
	}
	var list []uint16
	for cpu, k := range n {
		if float64(k) >= minUse*float64(all) {
			list = append(list, cpu)
		}
	}
	slices.SortFunc(list, func(a, b uint16) int { return cmp.Or(cmp.Compare(n[b], n[a]), cmp.Compare(a, b)) })
	return list
}

// reserve finds the CPUs that threads with GPU work need.
func (ev *evidence) reserve() map[uint16]bool {
	need := map[uint16]bool{}
	for _, t := range ev.subjects {
		if !ev.procs.launchers[t.Thread] && !ev.procs.workers[t.Thread] {
			continue
		}
		cpus := ev.cpusOf(t.Thread)
		if may := ev.host.allowed(t.Thread); len(may) > 0 && len(may) <= maxBound {
			cpus = may
		} else if len(cpus) > maxBound {
			cpus = cpus[:1]
		}
		for _, c := range cpus {
			need[c] = true
		}
	}
	return need
}

// busyCPUs returns the CPUs without room for other threads, as far as their load was recorded.
func (ev *evidence) busyCPUs() map[uint16]bool {
	busy := map[uint16]bool{}
	for cpu, pct := range ev.cpuLoads() {
		busy[cpu] = pct >= maxBusy
	}
	return busy
}

// cpuLoads returns how busy CPUs were in the window, percent; empty where it was not recorded.
func (ev *evidence) cpuLoads() map[uint16]float64 { return ev.cpuLoadsIn(ev.from, ev.to) }

// cpuLoadsIn is the same for a part of the window, Unix ns.
func (ev *evidence) cpuLoadsIn(from, to uint64) map[uint16]float64 {
	sum, n := map[uint16]float64{}, map[uint16]int{}
	for i := range ev.in.Snapshots {
		l := &ev.in.Snapshots[i]
		if l.At < from || l.At > to {
			continue
		}
		for cpu := range len(l.CPUs) {
			if pct, ok := l.CPUs.Pct(cpu); ok {
				sum[uint16(cpu)] += pct
				n[uint16(cpu)]++
			}
		}
	}
	for cpu := range sum {
		sum[cpu] /= float64(n[cpu])
	}
	return sum
}

// loadWords says how busy a finding's CPUs were, and which other CPUs had room.
func (ev *evidence) loadWords(f *finding) string {
	loads := ev.cpuLoads()
	var parts []string
	for _, c := range slices.Sorted(maps.Keys(f.contention.cpus)) {
		if pct, ok := loads[c]; ok && len(parts) < maxNamed {
			parts = append(parts, fmt.Sprintf("CPU %d was busy for %.0f %% of the time", c, pct))
		}
	}
	room := map[uint16]bool{}
	for c, pct := range loads {
		if pct < maxBusy && !f.contention.cpus[c] {
			room[c] = true
		}
	}
	if len(parts) == 0 {
		return ""
	}
	if len(room) == 0 {
		return strings.Join(parts, ", ") + ", and no other for less than half"
	}
	return strings.Join(parts, ", ") + ", CPU " + cpuList(room) + " for less than half"
}

// allowed returns the CPUs that a thread may run on; empty if that was not recorded.
func (hs *hostState) allowed(t event.Thread) []uint16 {
	q, ok := hs.scheduling(t)
	if !ok {
		return nil
	}
	return parseCPUs(q.CPUs)
}

// maxCPUs is above any CPU number that is accepted.
const maxCPUs = 1 << 13

// parseCPUs reads a list of CPUs as the kernel writes it: 0-3,8. An invalid list gives an empty
// result.
func parseCPUs(list string) (cpus []uint16) {
	for part := range strings.SplitSeq(list, ",") {
		lo, hi, ranged := strings.Cut(part, "-")
		if !ranged {
			hi = lo
		}
		first, err := strconv.Atoi(lo)
		last, err2 := strconv.Atoi(hi)
		if err != nil || err2 != nil || first < 0 || last >= maxCPUs {
			return nil
		}
		for c := first; c <= last; c++ {
			cpus = append(cpus, uint16(c))
		}
	}
	return cpus
}

// bound is the affinity of a thread that may not run on all CPUs.
type bound struct {
	may    []uint16
	before string   // where it might run before that changed; empty if it has not
	since  uint64   // Unix ns; 0 if it has not changed
	idle   []uint16 // other CPUs that had room meanwhile
}

// boundOf returns a thread's affinity, if it leaves out CPUs of the machine.
func (ev *evidence) boundOf(t event.Thread) (b bound, ok bool) {
	q, _ := ev.host.scheduling(t)
	b.may = parseCPUs(q.CPUs)
	if len(b.may) == 0 || ev.in.CPUs == 0 || len(b.may) >= ev.in.CPUs {
		return b, false
	}
	from := ev.from
	if len(parseCPUs(q.Before)) > len(b.may) && q.Changed > ev.from {
		b.before, b.since, from = q.Before, q.Changed, q.Changed
	}
	loads := ev.cpuLoadsIn(from, ev.to)
	for c := range uint16(ev.in.CPUs) {
		if pct, known := loads[c]; known && pct < maxBusy && !slices.Contains(b.may, c) {
			b.idle = append(b.idle, c)
		}
	}
	return b, true
}

// words list the CPUs: "CPU 0 since 18:15:03, before CPU 0-1".
func (b *bound) words() string {
	s := "CPU " + numbers(b.may)
	if b.since != 0 {
		s += fmt.Sprintf(" since %s, before CPU %s", clockOf(b.since/1e9), printable(b.before))
	}
	return s
}

// boundWords says on which CPUs the threads that waited may run, if that is not all of them.
func (ev *evidence) boundWords(f *finding) string {
	b, ok := ev.boundOf(f.root())
	if !ok {
		return ""
	}
	for _, p := range f.parts {
		if !slices.Equal(ev.host.allowed(p.Thread), b.may) {
			return ""
		}
	}
	whose := "the thread that waited"
	if f.parts.several() {
		whose = "each of them"
	}
	return fmt.Sprintf("the affinity of %s is %s", whose, b.words())
}

// crowded says that the thread that waited was kept to CPUs that others use, while others had room: then who had its
// CPU is only half of the reason. It is empty otherwise.
func (ev *evidence) crowded(f *finding) (words string, fix []string) {
	b, ok := ev.boundOf(f.root())
	if !ok || len(b.idle) == 0 {
		return "", nil
	}
	t := f.root()
	fix = []string{fmt.Sprintf("let it run on the other CPUs: taskset -acp %s %d; a library that is loaded, a launcher, "+
		"or KMP_AFFINITY and GOMP_CPU_AFFINITY may set the affinity, and children have it from their parent",
		numbers(slices.Concat(b.may, b.idle)), t.PID)}
	return fmt.Sprintf("; its affinity is %s, while CPU %s had room", b.words(), numbers(b.idle)), fix
}
