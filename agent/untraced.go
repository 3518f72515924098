package agent

import (
	"maps"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Processes that are not traced: names of those that woke a traced thread, held its lock or had its CPU. Their ends are
// not reported, so that another process may have such an id by the next time that it is seen.

// addUntraced makes sure that an untraced process has a name. That of the thread is used if the process is gone.
func (p *processTable) addUntraced(s sighting) {
	if _, ok := p.processes[s.PID]; ok || s.PID == 0 {
		return
	}
	q := store.Process{PID: s.PID, Name: s.comm, Born: s.born / tick, Rank: -1, LocalRank: -1, WorldSize: -1}
	if p.lookups < maxLookups {
		p.lookups++
		p.lookUp(&q, s.existed)
	}
	if q.Born == 0 {
		p.seenAt[s.PID] = s.existed
	}
	p.put(q)
}

// lookUp completes an untraced process, unless it is gone, or another one has its id. at is a time at which it existed,
// Unix ns.
func (p *processTable) lookUp(q *store.Process, at uint64) {
	pid := int(q.PID)
	born, err := p.fs.StartTime(pid)
	if err != nil || at < p.began(born) || q.Born != 0 && q.Born != born {
		return
	}
	q.Born = born
	if name, err := p.fs.Comm(pid, pid); err == nil && name != "" {
		q.Name = name
	}
	if parent, err := p.fs.Parent(pid); err == nil { // to find the owner of a data worker
		q.Parent = uint32(parent)
	}
	q.Owner = p.owners.Group(pid) // to name the pod that used the CPU
}

// maxEnded is how many traced processes that ended are kept, for the summary.
const maxEnded = 1024

// over notes the end of a traced process. Of many, those that ended first are forgotten.
func (p *processTable) over(pid uint32, at uint64) {
	if _, ok := p.processes[pid]; !ok {
		return
	}
	p.endedAt[pid] = at
	p.ended = append(p.ended, pid)
	for len(p.endedAt) > maxEnded || len(p.ended) > 2*maxEnded { // some were forgotten since
		if first := p.ended[0]; p.endedAt[first] != 0 {
			p.forgetProcess(first)
		}
		p.ended = p.ended[1:]
	}
}

// other reports whether a record that begins at a time, Unix ns, may be of another process than that which is known by
// an id: one that had it before, or one that has it since.
func (p *processTable) other(pid uint32, at uint64) bool {
	q, ok := p.processes[pid]
	return ok && (q.Born != 0 && at < p.began(q.Born) || p.endedAt[pid] != 0)
}

// earlier reports whether a process that began at a time, ns since the boot, is an earlier one than that which is known
// by its id. If it is a later one, what is known is forgotten. existed is a time at which it existed, Unix ns.
func (p *processTable) earlier(pid uint32, born, existed uint64) bool {
	q, ok := p.processes[pid]
	ticks := born / tick
	switch {
	case !ok || q.Born == ticks:
	case q.Born > ticks:
		return true
	case q.Born != 0 || p.seenAt[pid] != 0 && p.seenAt[pid] < p.boot()+born:
		p.replaced(pid, p.boot()+born)
	default:
		delete(p.seenAt, pid)
		q.Born = ticks
		p.put(q)
	}
	return false
}

// reused forgets a process whose id another one has by now, and reports whether there was one. at is the time of a
// record that has the id, Unix ns: one of the earlier process changes nothing.
func (p *processTable) reused(pid uint32, at uint64) bool {
	if _, ok := p.processes[pid]; !ok {
		return false
	}
	born, err := p.fs.StartTime(int(pid))
	if err != nil || at < p.began(born) || !p.another(pid, born) {
		return false
	}
	p.replaced(pid, p.began(born))
	return true
}

// slack is for what ticks round, for what the kernel does after it has reported an end, and for a clock that is
// set; ns.
const slack = 100_000_000

// forked forgets an earlier process with the id of one that is forked: also if that is gone by now.
func (p *processTable) forked(l *event.Life) {
	old, ok := p.processes[l.PID]
	if !ok || p.reused(l.PID, l.At) {
		return
	}
	at, known := p.seenAt[l.PID]
	if old.Born != 0 {
		at, known = p.began(old.Born)+slack, true
	}
	if known && at < l.At {
		p.replaced(l.PID, l.At)
	}
}

// another reports whether a process that began at a time, in clock ticks, is another one than that which is known.
func (p *processTable) another(pid uint32, born uint64) bool {
	if old := p.processes[pid].Born; old != 0 {
		return born != old
	}
	at, ok := p.seenAt[pid]
	return ok && at < p.began(born)
}

// replaced forgets a process whose id another one has since a time, Unix ns.
func (p *processTable) replaced(pid uint32, at uint64) {
	p.forgetProcess(pid)
	maps.DeleteFunc(p.threads, func(t event.Thread, _ store.ThreadInfo) bool { return t.PID == pid })
	delete(p.execs, pid)
	p.newReused = append(p.newReused, store.Reuse{PID: pid, At: at})
}

// tick is the unit of /proc/PID/stat, ns: there are 100 a second on all machines (sysconf(_SC_CLK_TCK)).
const tick = 10_000_000

// began is the time of a start in clock ticks since the boot, Unix ns. Ticks are rounded down.
func (p *processTable) began(ticks uint64) uint64 { return p.boot() + ticks*tick }

// bootTime returns a function that says when the machine booted, by the clock of a recording that begins now: records
// keep the wall clock of the begin, however it is set later (package probe), and their clock stands still while the
// machine sleeps, which ticks do not.
func bootTime() func() uint64 {
	toUnix := clock(unix.CLOCK_REALTIME) - clock(unix.CLOCK_MONOTONIC)
	return func() uint64 { return uint64(toUnix + clock(unix.CLOCK_MONOTONIC) - clock(unix.CLOCK_BOOTTIME)) }
}

// now is the time by the recording's clock, Unix ns.
func (p *processTable) now() uint64 { return p.boot() + uint64(clock(unix.CLOCK_BOOTTIME)) }

// clock reads one of the clocks that every kernel has, ns.
func clock(id int32) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return 0
	}
	return t.Nano()
}

// maxUntraced is the number of untraced processes and threads from which ended ones are looked for:
// their ends are not reported.
const maxUntraced = 2048

// prune removes ended processes and threads. If their ids are used again, they are looked up again.
func (p *processTable) prune() {
	p.execs.prune()
	if len(p.processes)+len(p.threads) < p.pruneAt {
		return
	}
	gone := map[uint32]bool{}
	for pid, q := range p.processes {
		if _, err := p.fs.Comm(int(pid), int(pid)); err != nil && !q.Traced {
			gone[pid] = true
			p.forgetProcess(pid)
		}
	}
	for t := range p.threads {
		if q, ok := p.processes[t.PID]; ok && q.Traced && p.endedAt[t.PID] == 0 {
			continue // its end is reported, or found
		}
		if _, err := p.fs.Comm(int(t.PID), int(t.TID)); err != nil || gone[t.PID] {
			delete(p.threads, t)
			delete(p.sched.known, t)
		}
	}
	p.pruneAt = max(maxUntraced, 2*(len(p.processes)+len(p.threads)))
}
