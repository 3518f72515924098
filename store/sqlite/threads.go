package sqlite

import (
	"slices"

	"github.com/ingero-io/ingero/event"
)

// thread is a row of the thread table. A thread that changes its name gets
// another row.
type thread struct {
	id int64
	event.Thread
	comm     string
	dispatch bool
	ended    uint64 // Unix ns, 0 if it is not known to have ended
	born     uint64 // the start of its process by the kernel, Unix ns, 0 if it is not known
	fresh    bool   // listed in threads.fresh
}

// generation is one of the threads that have the same ids, one after the other. Times are Unix ns.
type generation struct {
	id event.Thread
	// process is that of a thread which is not its first, if another process has its id since.
	process *generation
	from    uint64    // no record before this is of it; 0: not known
	born    uint64    // the start of its process by the kernel; 0: not known
	until   uint64    // from here on another one has the ids; 0: nobody
	ended   uint64    // 0: not known to have ended
	first   uint64    // the begin of the earliest record of it; 0: none has been seen
	used    uint64    // the commit before which it was last used
	latest  *thread   // its row; nil: it has none yet
	named   []*thread // its rows with names: the last maxNames that it had
}

// maxNames bounds the names of a thread that are known, if it changes them.
const maxNames = 8

// threads is the dictionary of threads of this session.
type threads struct {
	now    map[event.Thread]*generation
	before map[event.Thread][]*generation // those that had the ids, as long as records of them may come; in order
	last   int64
	fresh  []*thread
	over   []*generation // those that ended and may still be in records, in the order in which that became known
	newest uint64        // the latest end, Unix ns

	commits uint64
}

// The ends of threads that are not traced are not reported. From keptThreads on, those that were in no record for
// unusedCommits, about a minute, are forgotten, every trimEvery commits. One that is in a record again gets another
// row, which says the same.
const (
	keptThreads   = 2048
	unusedCommits = 60
	trimEvery     = 16
)

// lateTime is for how long after the end of a thread records of it come, ns: what others say of it comes when their own
// waits end. It is not forgotten before what was read with its end is written, which may be much more: all that
// happened while the tracer was stopped, or while the disk was full. keptEnded is how many are kept for that at most.
const (
	lateTime  = 10_000_000_000
	keptEnded = 65536
)

func newThreads(last int64) threads {
	return threads{
		now: make(map[event.Thread]*generation), before: make(map[event.Thread][]*generation), last: last,
	}
}

// committed forgets threads that are not used any more. fresh ones are on disk.
func (d *threads) committed() {
	for _, t := range d.fresh {
		t.fresh = false
	}
	d.fresh = d.fresh[:0]
	for len(d.over) > 0 && d.over[0].ended+lateTime < d.newest {
		d.forgetEnded()
	}
	if d.commits++; d.commits%trimEvery != 0 || len(d.now) < keptThreads {
		return
	}
	for id, g := range d.now {
		if (g.latest == nil || !g.latest.dispatch) && g.used+unusedCommits < d.commits {
			delete(d.now, id)
		}
	}
}

// shed forgets threads that make no calls while nothing can be written, if there are more than most: those that were in
// no record for longest. It counts like a commit.
func (d *threads) shed(most int) {
	d.commits++
	for unused := uint64(unusedCommits); len(d.now) > most; unused /= 4 {
		for id, g := range d.now {
			if (g.latest == nil || !g.latest.dispatch) && g.used+unused < d.commits {
				delete(d.now, id)
			}
		}
		if unused == 0 {
			return
		}
	}
}

// get finds a thread by its ids and, unless it is empty, its name. at is a time at which it existed, Unix ns: another
// one may have had the ids before, or have them since. 0: not known.
func (d *threads) get(id event.Thread, comm string, at uint64) *thread {
	return d.row(d.generation(id, comm, at, at), comm)
}

// within is get for a thread that existed at some time from one time to another, Unix ns. from is 0 for records that
// are written long after the thread may have ended, such as sums.
func (d *threads) within(id event.Thread, comm string, from, to uint64) *thread {
	return d.row(d.generation(id, comm, from, to), comm)
}

// generation finds which thread had ids at some time in a stretch, or the name.
func (d *threads) generation(id event.Thread, comm string, from, at uint64) *generation {
	if p := d.now[mainOf(id)]; p != nil && p.id != id && at != 0 && at < p.from {
		return d.ofEarlier(id, d.whose(p, "", at, at), at)
	}
	g := d.now[id]
	if g == nil {
		g = &generation{id: id}
		d.now[id] = g
	}
	g = d.whose(g, comm, from, at)
	g.used = d.commits
	if at != 0 && (g.first == 0 || at < g.first) {
		g.first = at
	}
	return g
}

// ofEarlier finds the thread of a process whose id another one has since.
func (d *threads) ofEarlier(id event.Thread, process *generation, at uint64) *generation {
	list := d.before[id]
	for _, g := range list {
		if g.process == process || g.process == nil && at >= g.from && at < g.until {
			return g
		}
	}
	g := &generation{id: id, process: process, from: process.from, until: process.until, first: at}
	place := slices.IndexFunc(list, func(o *generation) bool { return o.from > g.from })
	if place < 0 {
		place = len(list)
	}
	d.before[id] = slices.Insert(list, place, g)
	d.ended(g, process.ended)
	return g
}

func mainOf(id event.Thread) event.Thread { return event.Thread{PID: id.PID, TID: id.PID} }

// whose finds the one of the threads that have ids now, or had them before, which existed at some time from one time to
// another, or has the name. The name is better than the time: a thread may have ended within what a record is about.
func (d *threads) whose(now *generation, comm string, from, at uint64) *generation {
	if at == 0 || at >= now.from {
		if now.ended == 0 && (comm == "" || now.isNamed(comm)) {
			return now
		}
	}
	all := append(slices.Clip(d.before[now.id]), now)
	n := len(all) - 1
	for n >= 0 && at != 0 && at < all[n].from {
		n--
	}
	if n < 0 { // one of which nothing has been seen so far
		return d.insert(&generation{id: now.id, until: all[0].from}, 0)
	}
	g := all[n]
	named := comm == "" || g.isNamed(comm)
	if !named {
		for _, other := range slices.Backward(all) {
			if other.isNamed(comm) && other.existed(from, at) {
				return other
			}
		}
	}
	// Another one may have had the ids since, whose start nobody reported. A thread does something after its end, too: it
	// closes its files, and wakes its parent.
	switch another := !named && (at == 0 || at > g.ended) || from > g.ended+endSlack; {
	case g.ended == 0 || !another:
		return g
	case g == now:
		return d.next(g, g.ended)
	}
	between := &generation{id: g.id, from: g.ended, until: g.until}
	g.until = g.ended
	return d.insert(between, n+1)
}

// insert adds a thread before those that had its ids later. It ended when the next one began.
func (d *threads) insert(g *generation, place int) *generation {
	d.before[g.id] = slices.Insert(d.before[g.id], place, g)
	d.ended(g, g.until)
	return g
}

// existed reports whether a thread may have existed at some time from one time to another. Times of a start that
// several programs saw differ a little.
func (g *generation) existed(from, at uint64) bool {
	return (at == 0 || g.from <= at+endSlack) && (g.ended == 0 || from <= g.ended+endSlack)
}

func (g *generation) isNamed(comm string) bool { return g.rowNamed(comm) != nil }

// rowNamed is the row with a name; nil if there is none.
func (g *generation) rowNamed(comm string) *thread {
	for _, t := range g.named {
		if t.comm == comm {
			return t
		}
	}
	return nil
}

// row is the row of a thread with a name, if that is known.
func (d *threads) row(g *generation, comm string) *thread {
	t := g.latest
	switch {
	case t == nil:
		t = d.add(g, comm)
	case comm == "" || comm == t.comm:
		return t
	case t.comm == "":
		t.comm = comm
		d.touch(t)
	default:
		if t = g.rowNamed(comm); t == nil {
			t = d.add(g, comm)
		}
	}
	g.latest = t
	if t.comm != "" && !g.isNamed(t.comm) {
		if len(g.named) >= maxNames {
			g.named = slices.Delete(g.named, 0, 1)
		}
		g.named = append(g.named, t)
	}
	return t
}

func (d *threads) add(g *generation, comm string) *thread {
	d.last++
	t := &thread{id: d.last, Thread: g.id, comm: comm, ended: g.ended, born: g.born}
	d.touch(t)
	return t
}

// touch makes the next transaction write the row again.
func (d *threads) touch(t *thread) {
	if !t.fresh {
		t.fresh = true
		d.fresh = append(d.fresh, t)
	}
}

// end ends a thread. Records of it may still come; the next thread with its ids gets rows of its own.
func (d *threads) end(id event.Thread, at uint64) {
	if d.now[id] == nil {
		d.now[id] = &generation{id: id, used: d.commits}
	}
	if g := d.generation(id, "", at, at); g.ended == 0 && at >= g.from {
		d.ended(g, d.endOf(id, at))
	}
}

// endOf is when a thread ended, as far as its row says it: threads of a process end one by one with it, and are said to
// have ended when their process did. Another process may have the id soon, and has other threads.
func (d *threads) endOf(id event.Thread, at uint64) uint64 {
	main := mainOf(id)
	if id == main {
		return at
	}
	for _, g := range append(slices.Clip(d.before[main]), d.now[main]) {
		if g != nil && g.ended != 0 && g.ended <= at && at <= g.ended+endSlack {
			return g.ended
		}
	}
	return at
}

// ended notes when a thread ended.
func (d *threads) ended(g *generation, at uint64) {
	if len(d.over) >= keptEnded {
		d.forgetEnded()
	}
	d.newest = max(d.newest, at)
	g.ended = at
	if g.latest != nil {
		g.latest.ended = at
		d.touch(g.latest)
	}
	for _, t := range g.named {
		t.ended = at
		d.touch(t)
	}
	d.over = append(d.over, g)
}

// begin says that a thread begins, and reports whether its ids were those of another one. exit is when that one ended,
// 0: its end is not known, or end was called.
func (d *threads) begin(id event.Thread, at, exit uint64) bool {
	g := d.now[id]
	switch {
	case g != nil && g.from >= at:
		return false
	case g == nil && exit == 0:
		d.now[id] = &generation{id: id, from: at, first: at, used: d.commits}
		return false
	case g == nil:
		g = &generation{id: id}
		d.ended(g, exit)
	case g.ended != 0:
	case exit != 0:
		d.ended(g, exit)
	case g.first != 0 && g.first < at:
		d.ended(g, at)
	default:
		return false
	}
	d.next(g, at).first = at
	return true
}

// next is the thread that has the ids of another one, which has ended. If it is a process, the threads of the earlier
// one have ended with it.
func (d *threads) next(g *generation, from uint64) *generation {
	n := d.replace(g, from)
	if g.id.PID != g.id.TID {
		return n
	}
	for id, t := range d.now {
		if id.PID != g.id.PID || id == g.id || t.begunSince(from) {
			continue
		}
		if t.ended == 0 {
			d.ended(t, g.ended)
		}
		t.process = g
		d.replace(t, from)
	}
	return n
}

func (d *threads) replace(g *generation, from uint64) *generation {
	n := &generation{id: g.id, from: from, used: d.commits}
	g.until = from
	d.before[g.id] = append(d.before[g.id], g)
	d.now[g.id] = n
	return n
}

// has reports whether a call that begins at a time may be of the thread.
func (g *generation) has(at uint64) bool {
	return at >= g.from && (g.until == 0 || at < g.until) && (g.ended == 0 || at <= g.ended+endSlack)
}

// forgetEnded forgets the thread whose end has been known for longest.
func (d *threads) forgetEnded() {
	d.forget(d.over[0])
	d.over = d.over[1:]
}

func (d *threads) forget(g *generation) {
	if d.now[g.id] == g {
		delete(d.now, g.id)
		return
	}
	list := slices.DeleteFunc(d.before[g.id], func(o *generation) bool { return o == g })
	if d.before[g.id] = list; len(list) == 0 {
		delete(d.before, g.id)
	}
}

// keeps reports whether records that come may be of a row.
func (d *threads) keeps(t *thread) bool {
	of := func(g *generation) bool { return g.latest == t }
	g := d.now[t.Thread]
	return g != nil && of(g) || slices.ContainsFunc(d.before[t.Thread], of)
}
