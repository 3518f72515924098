package sqlite

import (
	"slices"

	"github.com/ingero-io/ingero/event"
)

// The kernel's records of threads that are not traced say when their process began. Processes that had one id differ by
// that, however little else is known of them: nobody reports their starts and ends.

// bornSlack is how far what others say of a process's start may be from what the kernel's records say, ns: /proc has it
// in ticks of 10 ms.
const bornSlack = 20_000_000

// bornAt is within for a thread of a process that began at a time by the kernel, Unix ns; 0: not known.
func (d *threads) bornAt(id event.Thread, comm string, born, from, to uint64) *thread {
	if born == 0 || id.PID == 0 { // an idle CPU's thread is of no process
		return d.within(id, comm, from, to)
	}
	process := d.process(mainOf(id), born)
	if process.latest == nil {
		d.row(process, "") // readers find another process by the row of its first thread
	}
	g := process
	switch {
	case process.id == id:
	case process == d.now[process.id]:
		g = d.generation(id, comm, max(from, born), to)
	default:
		g = d.ofEarlier(id, process, to)
	}
	d.bear(g, born)
	g.used = d.commits
	if to != 0 && (g.first == 0 || to < g.first) {
		g.first = to
	}
	return d.row(g, comm)
}

// bear notes when a thread's process began.
func (d *threads) bear(g *generation, born uint64) {
	if g.born == born {
		return
	}
	g.born = born
	for _, t := range g.named {
		t.born = born
		d.touch(t)
	}
	if t := g.latest; t != nil && t.born != born {
		t.born = born
		d.touch(t)
	}
}

// process finds the first thread of the process that began at a time by the kernel. id has the ids of it.
func (d *threads) process(id event.Thread, born uint64) *generation {
	now := d.now[id]
	if now == nil {
		now = &generation{id: id, from: born, born: born}
		d.now[id] = now
		return now
	}
	before := d.before[id]
	if i := slices.IndexFunc(before, func(g *generation) bool { return g.born == born }); i >= 0 && now.born != born {
		return before[i]
	}
	switch {
	case now.born == born:
		return now
	case now.born == 0 && (now.first == 0 || now.first+bornSlack >= born) && now.from <= born+bornSlack &&
		(now.ended == 0 || born <= now.ended):
		d.bear(now, born) // of whose start nothing was known
		return now
	case now.born != 0 && born > now.born, now.born == 0 && now.from <= born:
		if now.ended == 0 || now.ended > born {
			d.ended(now, born)
		}
		next := d.next(now, born)
		next.born = born
		return next
	}
	place := slices.IndexFunc(before, func(g *generation) bool { return g.from > born })
	until := now.from
	if place < 0 {
		place = len(before)
	} else {
		until = before[place].from
	}
	return d.insert(&generation{id: id, from: born, until: until, born: born}, place)
}

// begunSince reports whether a thread is one of the process that has its process id since a time.
func (g *generation) begunSince(at uint64) bool {
	if g.born != 0 {
		return g.born >= at
	}
	return g.from >= at || g.first >= at
}
