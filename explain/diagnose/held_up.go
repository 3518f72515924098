package diagnose

import (
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

// A data worker may be late because it waited for a CPU before the thread that needs its batch
// began to wait: the batches that were ready hid it until then. Without those waits it would have
// been done by so much earlier, and the thread would have waited for that much less.

const (
	minHeldUp = 0.25 // share of a worker's time for a batch in which it waited for a CPU, for that to be unusual
	maxBatch  = 2e9  // ns; no batch is looked at from before that
)

// delayed finds out by how much sooner a data worker would have been done with what a thread
// waited for, had it not waited for a CPU since it began. If that is half of the thread's wait or
// more, who had the CPU is to blame for so much of it. before is when the thread got what it waited
// for from that process the last time, Unix ns, or 0.
func (ev *evidence) delayed(r *root, before uint64) {
	last := r.last()
	own := r.chain[0].Thread.PID
	worker := len(r.chain) > 1 && last.Known && last.Thread.PID != own && ev.procs.feeds(last.Thread.PID, own)
	if !worker || r.answer || !causeOf(r.kind).fromWorker && r.kind != CPUContention {
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
	reportable := r.kind == CPUContention && sooner <= r.explained
	if reportable || share(sooner, wait) < half || share(queue, split.Wall) < minHeldUp {
		return
	}
	r.chain[len(r.chain)-1] = l
	r.kind, r.explained, r.freed = CPUContention, sooner, sooner
}

// resumed is when a worker took up what it did at the end of a link: when its last wait for
// another process was over, Unix ns, or 0.
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

// sinceBegun words how long the threads at the root of a finding's waits took for what was waited
// for, if it is known from when on they were at it; else it is empty.
func (f *finding) sinceBegun(who string) string {
	var d doing
	for _, cl := range f.claims {
		if cl.row == nil {
			continue
		}
		if l := &cl.chain[len(cl.chain)-1]; l.Known && l.From < cl.chain[0].From {
			d.Add(&l.Split)
		}
	}
	if d.Wall == 0 {
		return ""
	}
	queue := d.NS[event.RunQueue]
	return fmt.Sprintf("from when it began what was waited for, %s ran %s and waited for a CPU %s: "+
		"without that it would have been done before, or sooner", who, span(d.OnCPU), span(queue))
}
