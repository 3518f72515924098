package ledger

import (
	"cmp"
	"slices"
	"sort"

	"github.com/ingero-io/ingero/event"
)

// Index finds off-CPU intervals and totals by thread and time. TIDs are unique on a host at any
// time, so threads are looked up by TID alone.
type Index struct {
	threads map[uint32]*track
	peers   map[any]uint32                  // the thread at the other end of a socket or futex: see learnPeers
	renewed map[*event.OffCPU]*event.OffCPU // the later wait that continued one that timed out: see renewals

	// releases are the times at which a thread released a futex so that another one went on, Unix ns, in order.
	releases map[release][]uint64

	transfers, exits event.SyscallSet
}

// release is of a futex by a thread.
type release struct {
	pid, tid uint32
	futex    uint64
}

// track is the data of one TID.
type track struct {
	thread   event.Thread
	comm     string
	commAt   uint64          // Unix ns at which it had that name
	rows     []*event.OffCPU // by start
	ends     []uint64        // ends[i] is the latest end in rows[:i+1]
	totals   []*event.ThreadTime
	known    bool   // its time was recorded: rows or totals exist
	since    uint64 // Unix ns of the earliest row or total
	until    uint64 // Unix ns of the end of the latest row or total
	born     uint64 // Unix ns at which it was forked, 0 if that was not recorded
	ended    uint64
	followed bool
}

// Known is a thread whose name is known, whether or not its time was recorded.
type Known struct {
	event.Thread
	Comm string
}

// NewIndex indexes a recording made on the architecture. It keeps pointers into the slices, and does not change or
// reorder them.
func NewIndex(arch string, rows []event.OffCPU, totals []event.ThreadTime, names []Known, lives []event.Life) *Index {
	x := &Index{
		threads: map[uint32]*track{}, renewed: map[*event.OffCPU]*event.OffCPU{}, releases: map[release][]uint64{},
		transfers: event.SyscallsNamed(arch, transfers), exits: event.SyscallsNamed(arch, exits),
	}
	x.peers = x.learnPeers(rows)
	for _, n := range names {
		x.track(n.Thread, n.Comm, 0)
	}
	for i := range lives {
		l := &lives[i]
		t := x.track(l.Thread, l.Comm, l.At)
		if l.Kind == event.LifeFork {
			t.born = max(t.born, l.At)
		}
		if l.Kind == event.LifeExit {
			t.ended = max(t.ended, l.At)
		}
	}
	for i := range rows {
		t := x.track(rows[i].Thread, rows[i].Comm, end(&rows[i]))
		t.rows, t.known = append(t.rows, &rows[i]), true
		t.cover(rows[i].Start, end(&rows[i]))
		t.followed = t.followed || rows[i].Followed
	}
	for i := range totals {
		t := x.track(totals[i].Thread, totals[i].Comm, totals[i].At)
		t.totals, t.known = append(t.totals, &totals[i]), true
		t.cover(totals[i].At, totals[i].At)
		t.followed = t.followed || totals[i].Followed
	}
	for i := range rows {
		if o := &rows[i]; o.Futex != 0 && o.WakerFutex == o.Futex && o.Waker.TID != 0 {
			_, woken := Blocked(o)
			k := release{o.PID, o.Waker.TID, o.Futex}
			x.releases[k] = append(x.releases[k], woken)
		}
	}
	for _, list := range x.releases {
		slices.Sort(list)
	}
	for _, t := range x.threads {
		slices.SortFunc(t.rows, compareRows)
		renewals(t.rows, x.renewed)
		var latest uint64
		for _, o := range t.rows {
			latest = max(latest, end(o))
			t.ends = append(t.ends, latest)
		}
		slices.SortFunc(t.totals, func(a, b *event.ThreadTime) int {
			return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.OnCPU, b.OnCPU))
		})
	}
	return x
}

func (k *track) cover(from, to uint64) {
	if k.since == 0 || from < k.since {
		k.since = from
	}
	k.until = max(k.until, to)
}

// slack is how far beyond its last record a thread's time counts as recorded, ns: totals of running threads come ten
// times a second. The same holds before the first record, except for a thread that the tracer followed only after it
// woke a traced one.
const slack = 200_000_000

// covers reports whether all of the thread's time in a span was recorded, so that time outside intervals was spent on
// a CPU.
func (k *track) covers(from, to uint64) bool {
	before := uint64(slack)
	if k.followed {
		before = 0
	}
	return k.known && from >= k.since-min(k.since, before) && to <= k.until+min(slack, ^uint64(0)-k.until)
}

// compareRows is a total order by the fields that matter, so the order of recording does not matter.
func compareRows(a, b *event.OffCPU) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Duration, b.Duration),
		cmp.Compare(a.Class, b.Class), cmp.Compare(a.RunQueue, b.RunQueue),
		cmp.Compare(a.Waker.TID, b.Waker.TID), cmp.Compare(a.Holder, b.Holder), cmp.Compare(a.Inode, b.Inode))
}

// track returns what is known of a thread. If a thread changes its name, the last one counts; of two at the same time
// the greater one, so that the order of the records does not matter.
func (x *Index) track(t event.Thread, comm string, at uint64) *track {
	k := x.threads[t.TID]
	if k == nil {
		k = &track{thread: t}
		x.threads[t.TID] = k
	}
	if k.thread.PID == 0 {
		k.thread = t
	}
	if comm != "" && (at > k.commAt || at == k.commAt && comm > k.comm) {
		k.comm, k.commAt = comm, at
	}
	return k
}

// Thread returns the process and name of a thread id.
func (x *Index) Thread(tid uint32) (t event.Thread, comm string, ok bool) {
	k := x.threads[tid]
	if k == nil || tid == 0 {
		return event.Thread{}, "", false
	}
	return k.thread, k.comm, true
}

// Accounted reports whether a thread's time was recorded, so that time outside its intervals was spent on a CPU.
func (x *Index) Accounted(tid uint32) bool {
	k := x.threads[tid]
	return k != nil && k.known
}

// Span returns the time for which a thread was recorded, Unix ns; false if it was not.
func (x *Index) Span(tid uint32) (from, to uint64, ok bool) {
	k := x.threads[tid]
	if k == nil || !k.known {
		return 0, 0, false
	}
	return k.since, k.until, k.until > k.since
}

// Overlapping returns the thread's intervals that overlap [from, to), by start.
func (x *Index) Overlapping(tid uint32, from, to uint64) []*event.OffCPU {
	k := x.threads[tid]
	if k == nil || from >= to {
		return nil
	}
	i := sort.Search(len(k.ends), func(i int) bool { return k.ends[i] > from })
	var r []*event.OffCPU
	for ; i < len(k.rows) && k.rows[i].Start < to; i++ {
		if end(k.rows[i]) > from {
			r = append(r, k.rows[i])
		}
	}
	return r
}

func end(o *event.OffCPU) uint64 {
	if e := o.Start + o.Duration; e >= o.Start {
		return e
	}
	return ^uint64(0)
}

// Blocked returns the part of an interval in which the thread waited for what Class says, before it became runnable,
// Unix ns.
func Blocked(o *event.OffCPU) (from, to uint64) {
	return o.Start, end(o) - min(o.RunQueue, o.Duration)
}

// Between splits a thread's time in [from, to) by its intervals; the rest was on a CPU. Totals around the span limit
// that rest: off-CPU time in no interval (too short, or thinned) goes to the classes of the totals. It returns false
// if the thread's time was not recorded in that span.
func (x *Index) Between(tid uint32, from, to uint64) (Split, bool) {
	k := x.threads[tid]
	if k == nil || from >= to || !k.covers(from, to) {
		return Split{}, false
	}
	s := x.listed(tid, from, to)
	k.check(x, &s, from, to)
	return s, true
}

// listed splits a thread's time in [from, to) by its intervals alone.
func (x *Index) listed(tid uint32, from, to uint64) Split {
	s := Split{Wall: to - from}
	at := from // intervals of a thread do not overlap, except for reconstructed ones
	for _, o := range x.Overlapping(tid, from, to) {
		b, m := Blocked(o)
		e := end(o)
		s.NS[o.Class] += overlap(max(b, at), m, from, to)
		queue := event.RunQueue
		if o.Class == event.Throttled {
			queue = event.Throttled
		}
		s.NS[queue] += overlap(max(m, at), e, from, to)
		at = max(at, min(e, to))
	}
	s.OnCPU = s.Wall - min(s.offCPU(), s.Wall)
	return s
}

// offCPU returns the sum of the classes.
func (s *Split) offCPU() uint64 {
	var off uint64
	for _, v := range s.NS {
		off += v
	}
	return off
}

// tight bounds the unlisted time between two totals relative to that of the span. Up to it, the totals apply to the
// span; beyond it they are only an upper limit.
const tight = 2

// check corrects the on-CPU remainder by the totals around the span. What the totals have beyond the intervals
// between them, in each class, was in intervals too short to be listed. The span gets its share of that, by time.
func (k *track) check(x *Index, s *Split, from, to uint64) {
	i := sort.Search(len(k.totals), func(i int) bool { return k.totals[i].At > from }) - 1
	j := sort.Search(len(k.totals), func(i int) bool { return k.totals[i].At >= to })
	if i < 0 || j >= len(k.totals) {
		return
	}
	d, ok := Diff(k.totals[i], k.totals[j])
	if !ok || s.OnCPU == 0 {
		return
	}
	around := x.listed(k.thread.TID, k.totals[i].At, k.totals[j].At)
	var unlisted [event.NumClasses]uint64
	rest := d.OnCPU
	for c := range unlisted {
		unlisted[c] = d.NS[c] - min(d.NS[c], around.NS[c])
		rest += unlisted[c]
	}
	if rest == 0 {
		return
	}
	share := float64(s.OnCPU) / float64(rest)
	if share*tight < 1 && d.OnCPU >= s.OnCPU {
		return // the totals cover much more than the span, which may have been all on a CPU
	}
	share = min(1, share)
	var moved uint64
	for c, v := range unlisted {
		v = min(uint64(share*float64(v)), s.OnCPU-moved)
		s.NS[c] += v
		moved += v
	}
	s.OnCPU -= moved
}

func overlap(a, b, from, to uint64) uint64 {
	a, b = max(a, from), min(b, to)
	if a >= b {
		return 0
	}
	return b - a
}
