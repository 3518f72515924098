package agent

import (
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/host/cgroup"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// machine reads, once a second, the state of the host and of the traced processes' control groups.
type machine struct {
	groups *cgroup.Reader // nil: no CPU controller
	before map[string]cgroup.Group
	cpu    proc.CPUTime // at the last reading
	cpus   map[int]proc.CPUTime
	psi    map[string]proc.Pressure
	psiAt  time.Time
	swap   *proc.Swapping // at the last reading
}

func newMachine() *machine {
	m := &machine{before: map[string]cgroup.Group{}, psi: map[string]proc.Pressure{}}
	if g, err := cgroup.New(""); err == nil { // otherwise there are no quotas to read
		m.groups = g
	}
	return m
}

// throttles appends how long each traced process's groups were throttled since the last call.
func (p *processTable) throttles(l []store.Throttle, now time.Time) []store.Throttle {
	m := p.machine
	if m.groups == nil {
		return l
	}
	done, throttled := map[string]bool{}, map[string]bool{}
	for pid, q := range p.processes {
		if !q.Traced || p.endedAt[pid] != 0 { // another one may have the id by now
			continue
		}
		of, err := p.fs.Cgroups(int(pid))
		if err != nil || p.fs.Ended(int(pid)) {
			continue // it ended: its group can no longer be read
		}
		groups, err := m.groups.CPU(of)
		if err != nil {
			p.regroup(pid, of, false)
			continue
		}
		held := false
		for _, g := range groups {
			if !done[g.Path] {
				done[g.Path] = true
				if t, ok := m.throttle(g, now); ok {
					throttled[g.Path] = true
					l = append(l, t)
				}
			}
			held = held || throttled[g.Path]
		}
		p.regroup(pid, of, held)
	}
	return l
}

// throttle is how long a group was throttled since the last reading; false if it was not.
func (m *machine) throttle(g cgroup.Group, now time.Time) (store.Throttle, bool) {
	before, known := m.before[g.Path]
	m.before[g.Path] = g
	if !known || g.ThrottledNS <= before.ThrottledNS {
		return store.Throttle{}, false
	}
	return store.Throttle{
		At: uint64(now.UnixNano()), Cgroup: g.Path,
		Periods: g.Throttled - before.Throttled, NS: g.ThrottledNS - before.ThrottledNS,
		QuotaUS: g.QuotaUS, PeriodUS: g.PeriodUS, Version: g.Version,
	}, true
}

// regroup notes the control groups of a process, which may be moved at any time. A group whose
// quota throttled it stays recorded after the process leaves it, until another one throttles it;
// held says that this one did now.
func (p *processTable) regroup(pid uint32, of map[string]string, held bool) {
	group := groupOf(of)
	if held {
		p.heldBack[pid] = true
	} else if p.heldBack[pid] {
		return
	}
	if q := p.processes[pid]; q.Cgroup != group {
		q.Cgroup = group
		p.put(q)
	}
}

// limits looks up the memory limits of processes that reached one.
func (p *processTable) limits(reclaims []event.Reclaim) {
	for i := range reclaims {
		r := &reclaims[i]
		if r.Kind != event.ReclaimCgroup || p.limited[r.PID] || p.machine.groups == nil {
			continue
		}
		p.limited[r.PID] = true
		of, err := p.fs.Cgroups(int(r.PID))
		if err != nil {
			continue // it ended
		}
		if l, err := p.machine.groups.Memory(of); err == nil && l.Bytes > 0 {
			p.newLimits = append(p.newLimits, store.MemoryLimit{PID: r.PID, Cgroup: l.Path, Bytes: l.Bytes})
		}
	}
}

// snapshot is the state of the machine, nil if it cannot be read.
func (p *processTable) snapshot(now time.Time) []store.Snapshot {
	var i unix.Sysinfo_t
	if err := unix.Sysinfo(&i); err != nil {
		return nil
	}
	unit := uint64(i.Unit)
	s := store.Snapshot{
		At: uint64(now.UnixNano()), SwapMB: (i.Totalswap - i.Freeswap) * unit >> 20,
		Load: math.Round(float64(i.Loads[0])/65536*100) / 100,
	}
	s.CPUPct, s.StealPct, s.CPUs = p.machine.busy(p.fs)
	s.Pressure = p.machine.pressure(p.fs, now)
	s.SwapIn, s.SwapOut = p.machine.swapping(p.fs)
	if avail, total, err := p.fs.Memory(); err == nil && total > 0 {
		s.MemAvailableMB = avail >> 20
		s.MemPct = 100 * float64(total-avail) / float64(total)
	}
	return []store.Snapshot{s}
}

// busy is the share of all CPUs' time that was not idle since the last call, and the share of it
// that the hypervisor took, in percent; and how busy each CPU was.
func (m *machine) busy(fs proc.FS) (busy, stolen float64, each store.CPUBusy) {
	now, cpus, err := fs.CPUTime()
	if err != nil {
		return 0, 0, ""
	}
	before, were := m.cpu, m.cpus
	m.cpu, m.cpus = now, cpus
	total := float64(now.Total - before.Total)
	if before.Total == 0 || total == 0 {
		return 0, 0, ""
	}
	pct := map[int]float64{}
	for n, c := range cpus {
		if b, ok := were[n]; ok && c.Total > b.Total {
			pct[n] = 100 * float64(c.Busy-min(b.Busy, c.Busy)) / float64(c.Total-b.Total)
		}
	}
	of := func(ticks uint64) float64 { return 100 * float64(ticks) / total }
	return of(now.Busy - before.Busy), of(now.Stolen - before.Stolen), store.NewCPUBusy(pct)
}

// pressure is the share of the time since the last call in which tasks waited.
func (m *machine) pressure(fs proc.FS, now time.Time) (r store.Pressure) {
	span := now.Sub(m.psiAt)
	first := m.psiAt.IsZero()
	m.psiAt = now
	since := func(resource string, some, full *float64) {
		p, err := fs.Pressure(resource)
		if err != nil {
			return // the kernel does not report it
		}
		before := m.psi[resource]
		m.psi[resource] = p
		if first || span <= 0 {
			return
		}
		share := func(d time.Duration) float64 { return min(100, max(0, 100*float64(d)/float64(span))) }
		*some, *full = share(p.Some-before.Some), share(p.Full-before.Full)
	}
	var all float64 // not meaningful for CPUs
	since("cpu", &r.CPU, &all)
	since("memory", &r.Memory, &r.MemoryFull)
	since("io", &r.IO, &r.IOFull)
	return r
}

// swapping is the number of bytes read from swap and written to it since the last call.
func (m *machine) swapping(fs proc.FS) (in, out uint64) {
	now, err := fs.Swapping()
	if err != nil {
		return 0, 0 // a kernel without swap
	}
	before := m.swap
	m.swap = &now
	if before == nil {
		return 0, 0
	}
	return now.In - before.In, now.Out - before.Out
}
