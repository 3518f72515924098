package change

import (
	"cmp"
	"slices"
	"time"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// Limits of what is kept of a run, and conditions for reporting a change while it lasts.
const (
	keptSeconds = 120
	maxThreads  = 32   // threads that launch work or wait for it
	maxOps      = 24   // operations of a thread in a second
	sampleCalls = 2000 // calls to search steps in
	fewCalls    = 100  // calls that suffice for that after sampleTime
	sampleTime  = 10 * time.Second
	maxSamples  = 3 // after which the calls count as not repeating
	maxNames    = 1024
	maxReported = 16 // reported changes of a thread to remember

	second    = uint64(time.Second)
	settled   = 8 * second  // before a change
	lasts     = 3 * second  // after it; the next second must show it again
	sameDate  = second      // two dates so close belong to one change whose date is settled
	late      = second      // time in which calls of a second may still come
	sameTime  = 5 * second  // two changes so close are the same one
	quietTime = 30 * second // without a drift: a later one is new
)

// Live finds changes in the records of a running tracer, in the last two minutes of each thread. It reports each
// change once, and again if it turns out to have been a slow time that is over. Its memory does not grow with the
// length of the run. It is for one goroutine.
type Live struct {
	threads map[event.Thread]*liveThread
	last    *liveThread
	names   map[uint32]string
}

// NewLive returns an empty Live.
func NewLive() *Live {
	return &Live{threads: map[event.Thread]*liveThread{}, names: map[uint32]string{}}
}

// liveThread is the state of a thread.
type liveThread struct {
	event.Thread
	seconds []Second // by time, the last ones
	sample  []event.CallTime
	samples int
	known   bool // holds is known
	of      Thread
	least   uint64 // of its steps: ledger.Steps

	found    []report.Change // found in the second before
	reported []report.Change // reported lately
	drifted  uint64          // Unix ns of the last drift found
}

// Batch adds a batch.
func (l *Live) Batch(b *store.Batch) {
	for i := range b.Processes {
		p := &b.Processes[i]
		if _, known := l.names[p.PID]; p.Traced && (known || len(l.names) < maxNames) {
			l.names[p.PID] = p.Name
		}
	}
	for i := range b.Calls {
		l.call(&b.Calls[i])
	}
	for i := range b.Gaps {
		g := &b.Gaps[i]
		if t := l.threads[g.Thread]; t != nil {
			if s := t.at(g.Start / second * second); s != nil {
				s.Between.Add(&g.Ledger)
			}
		}
	}
	for i := range b.Lives {
		if e := &b.Lives[i]; e.Kind == event.LifeExit {
			delete(l.threads, e.Thread)
			l.last = nil
			if e.PID == e.TID {
				delete(l.names, e.PID)
			}
		}
	}
}

func (l *Live) call(c *event.Call) {
	if c.Depth > 0 {
		return
	}
	if l.last == nil || l.last.Thread != c.Thread {
		t := l.threads[c.Thread]
		if t == nil {
			if t = l.begin(c); t == nil {
				return
			}
		}
		l.last = t
	}
	t := l.last
	if s := t.at(c.Start / second * second); s != nil {
		s.addCall(c)
	}
	if !t.known && len(t.sample) < sampleCalls {
		t.sample = append(t.sample, c.Time())
	}
}

// begin adds a thread that launches work or waits for it; nil if there is no room.
func (l *Live) begin(c *event.Call) *liveThread {
	if r := c.Op.Role(); r != event.RoleLaunch && r != event.RoleSync {
		return nil
	}
	if len(l.threads) >= maxThreads {
		for id, t := range l.threads {
			if n := len(t.seconds); n == 0 || t.seconds[n-1].At+keptSeconds*second < c.Start {
				delete(l.threads, id)
			}
		}
		if len(l.threads) >= maxThreads {
			return nil
		}
	}
	t := &liveThread{Thread: c.Thread}
	l.threads[c.Thread] = t
	return t
}

// at returns the second that begins at a time, nil if it is too old. The oldest second makes room for a new one.
func (t *liveThread) at(begin uint64) *Second {
	n := len(t.seconds)
	for i := n - 1; i >= 0 && t.seconds[i].At >= begin; i-- {
		if t.seconds[i].At == begin {
			return &t.seconds[i]
		}
	}
	if n > 0 && begin < t.seconds[n-1].At {
		return nil
	}
	next := Second{At: begin}
	if n == keptSeconds {
		next.Ops = t.seconds[0].Ops[:0]
		copy(t.seconds, t.seconds[1:])
		t.seconds = t.seconds[:n-1]
	}
	t.seconds = append(t.seconds, next)
	return &t.seconds[len(t.seconds)-1]
}

func (s *Second) addCall(c *event.Call) {
	o := s.Of(c.Op)
	if o == nil {
		if len(s.Ops) >= maxOps {
			return
		}
		s.Ops = append(s.Ops, Sum{Op: c.Op})
		o = &s.Ops[len(s.Ops)-1]
	}
	o.Calls++
	o.NS += c.Duration
	if !c.Ledger.IsZero() {
		o.Ledger.Add(&c.Ledger)
	}
	if c.Op.Role() == event.RoleSync {
		o.At(c.Args[event.SiteArg], 1)
	}
	if c.Op.Role() == event.RoleCopy {
		if i := c.Op.Info().BytesArg(); i >= 0 {
			o.Bytes += c.Args[i]
		}
	}
}

// Changes returns the changes found since the last call, up to now in Unix ns: changes for the worse that are mostly
// not waits between calls, that are not more work, and in which the program waits at the same places as before.
func (l *Live) Changes(now uint64) (list []report.Change) {
	for _, t := range l.threads {
		t.findSteps(now)
		n := len(t.seconds)
		for n > 0 && t.seconds[n-1].At+second+late > now {
			n--
		}
		if !t.known || t.least > 0 || t.of.Op == 0 || n < 2 {
			continue
		}
		t.of.Process = l.names[t.PID]
		seconds := t.seconds[1:n] // it may have worked for a part of the first
		from, to := seconds[0].At+settled, seconds[n-2].At+second-lasts
		found := Find(&t.of, seconds, second)
		for _, c := range found {
			again := slices.ContainsFunc(t.found, func(old report.Change) bool { return settles(&c, &old) })
			if again && c.MoreWork == "" && !c.Between && !c.Elsewhere && c.AtNS >= from && c.AtNS <= to && t.fresh(&c, now) {
				list = append(list, c)
			}
		}
		t.found = found
	}
	slices.SortFunc(list, func(a, b report.Change) int {
		return cmp.Or(cmp.Compare(a.AtNS, b.AtNS), cmp.Compare(a.TID, b.TID))
	})
	return list
}

// settles reports whether a change was found a second ago with the same date. Its first seconds may be joined with
// some before.
func settles(c, old *report.Change) bool {
	apart := max(c.AtNS, old.AtNS) - min(c.AtNS, old.AtNS)
	return c.Kind == old.Kind && (c.Kind == report.ChangeDrift || apart <= sameDate)
}

// fresh reports whether a change is new, and remembers it.
func (t *liveThread) fresh(c *report.Change, now uint64) bool {
	if c.Kind == report.ChangeDrift {
		before := t.drifted
		t.drifted = now
		return before == 0 || now-before > quietTime
	}
	if t.drifted != 0 && now-t.drifted <= quietTime {
		return false // the same one, then taken for a change of level
	}
	for i := range t.reported {
		old := &t.reported[i]
		if c.AtNS > old.AtNS+sameTime || old.AtNS > c.AtNS+sameTime {
			continue
		}
		if old.Kind == c.Kind || c.Kind != report.ChangeOnce {
			return false
		}
		old.Kind = c.Kind // it is over
		return true
	}
	if len(t.reported) >= maxReported {
		t.reported = t.reported[:copy(t.reported, t.reported[1:])]
	}
	t.reported = append(t.reported, *c)
	return true
}

// findSteps searches the thread's repetition, once there are enough calls. If its steps are not found, its waits for
// the GPU are counted.
func (t *liveThread) findSteps(now uint64) {
	n := len(t.sample)
	if t.known || n < fewCalls || n < sampleCalls && now < t.sample[0].Start+uint64(sampleTime) {
		return
	}
	slices.SortFunc(t.sample, ledger.InOrder)
	steps, ok := ledger.FindSteps([][]event.CallTime{t.sample})
	t.sample = t.sample[:0]
	t.samples++
	switch {
	case ok:
		t.of, t.least = Thread{Thread: t.Thread, Op: steps.Op}, steps.Least
		for _, c := range steps.Calls {
			if c.N == 1 && c.Op != steps.Op {
				t.of.Once = append(t.of.Once, c.Op)
			}
		}
	case t.samples < maxSamples:
		return
	default:
		t.of = Thread{Thread: t.Thread, Op: t.waits(), Rate: true}
	}
	t.known, t.sample = true, nil
}

// waits returns the operation that waits for the GPU for most time, 0 if there is none.
func (t *liveThread) waits() (op event.Op) {
	sum := map[event.Op]uint64{}
	for i := range t.seconds {
		for _, o := range t.seconds[i].Ops {
			if o.Op.Role() == event.RoleSync {
				sum[o.Op] += o.NS
			}
		}
	}
	for o, ns := range sum {
		if op == 0 || ns > sum[op] || ns == sum[op] && o < op {
			op = o
		}
	}
	return op
}
