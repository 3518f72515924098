package diagnose

import (
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

// A data worker may be late because it waited for a CPU before the thread that needs its batch
// began to wait: until then batches that were ready hid the delay. Without its waits for a CPU the
// worker would have finished earlier by their length, and the thread would have waited that much
// less.

const (
	minHeldUp = 0.25 // least share of a worker's time for a batch in which it waited for a CPU
	maxBatch  = 2e9  // ns; how far back the beginning of a batch is searched
)

// delayed finds out how much sooner a data worker would have finished what a thread waited for,
// without its waits for a CPU since it began. If that is at least half of the thread's wait, those
// who had the CPU are to blame for that part. before is when the thread last got something from
// that process, Unix ns, or 0.
func (ev *evidence) delayed(r *root, before uint64) {
	last := r.last()
	own := r.chain[0].Thread.PID
	worker := len(r.chain) > 1 && last.Known && last.Thread.PID != own && ev.procs.feeds(last.Thread.PID, own)
	if !worker || r.answer || !causeOf(r.kind).fromWorker && r.kind != event.CauseCPUContention {
		return
	}
	from := max(before, ev.resumed(last), last.To-min(last.To, maxBatch))
	if from >= last.From {
		return
	}
	split, ok := ev.procs.x.Between(last.Thread.TID, from, last.To)
	if !ok {
		return
	}
	l := *last
	l.From, l.Split, l.Rows = from, split, ev.procs.x.Overlapping(last.Thread.TID, from, last.To)
	queue := l.Split.NS[event.RunQueue] - min(l.Split.NS[event.RunQueue], ev.host.throttledIn(&l))
	wait := r.chain[0].To - r.chain[0].From
	sooner := min(queue, uint64(float64(wait)*r.reach))
	reportable := r.kind == event.CauseCPUContention && sooner <= r.explained
	if reportable || share(sooner, wait) < half || share(queue, split.Wall) < minHeldUp {
		return
	}
	r.chain[len(r.chain)-1] = l
	r.kind, r.explained, r.freed = event.CauseCPUContention, sooner, sooner
}

// resumed returns when a worker began the work that it finished at the end of a link: the end of its
// last wait for another process, Unix ns, or 0.
func (ev *evidence) resumed(l *ledger.Link) uint64 {
	rows := ev.procs.x.Overlapping(l.Thread.TID, l.To-min(l.To, maxBatch), l.To)
	for _, o := range slices.Backward(rows) {
		_, end := ledger.Blocked(o)
		waits := o.Class == event.Poll || ev.host.receives(o)
		if waits && o.Waker.PID != 0 && o.Waker.PID != o.PID && end <= l.To {
			return end
		}
	}
	return 0
}

// sinceBegun says how long the root threads of the waits took for what was waited for;
// empty if it is not known when they began.
func (l claimList) sinceBegun(who string) string {
	var d doing
	for _, cl := range l {
		if !cl.through() {
			continue
		}
		if l := cl.last(); l.Known && l.From < cl.chain[0].From {
			d.Add(&l.Split)
		}
	}
	if d.Wall == 0 {
		return ""
	}
	queue := d.NS[event.RunQueue]
	return fmt.Sprintf("from the start of the work that was waited for, %s ran for %s and waited for a CPU for %s; "+
		"without that, the work would have been done sooner, or before the wait began", who, span(d.OnCPU), span(queue))
}
