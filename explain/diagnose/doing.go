package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

// doing is what the thread at the root of the waits did during them.
type doing struct{ ledger.Split }

func (l claimList) doing() doing {
	var d doing
	for _, cl := range l {
		if l := cl.last(); l.Known {
			d.Add(&l.Split)
		}
	}
	return d
}

// during names the operation in which the threads at the root of the waits spent more than half of them; "" if there is
// none. Not every call is stored, but each interval that a thread was off the CPU says in which call that was.
func (cs *callStats) during(l claimList) string {
	in := map[event.Op]uint64{}
	var all uint64
	for _, cl := range l {
		if !cl.followed() {
			continue
		}
		last := cl.last()
		all += last.To - min(last.From, last.To)
		stored, asleep := map[event.Op]uint64{}, map[event.Op]uint64{}
		for _, c := range cs.callsOf(last.Thread, last.From, last.To) {
			stored[c.Op] += overlap(c.Start, c.Start+c.Duration, last.From, last.To)
		}
		for _, o := range last.Rows {
			asleep[o.Op] += overlap(o.Start, o.Start+o.Duration, last.From, last.To)
		}
		for op, ns := range asleep {
			stored[op] = max(stored[op], ns)
		}
		for op, ns := range stored {
			in[op] += ns
		}
	}
	for op, ns := range in {
		if op != 0 && 2*ns > all {
			return op.String()
		}
	}
	return ""
}

// callsOf lists the outermost calls of a thread that were stored and overlap a stretch of time.
func (cs *callStats) callsOf(t event.Thread, from, to uint64) []*event.Call {
	if cs.byThread == nil {
		cs.byThread = map[event.Thread][]*event.Call{}
		for i := range cs.in.Calls {
			if c := &cs.in.Calls[i]; c.Depth == 0 {
				cs.byThread[c.Thread] = append(cs.byThread[c.Thread], c)
			}
		}
		for _, list := range cs.byThread {
			slices.SortFunc(list, func(a, b *event.Call) int { return cmp.Compare(a.Start, b.Start) })
		}
	}
	list := cs.byThread[t]
	n, _ := slices.BinarySearchFunc(list, from,
		func(c *event.Call, at uint64) int { return cmp.Compare(c.Start+c.Duration, at) })
	end := n
	for end < len(list) && list[end].Start < to {
		end++
	}
	return list[n:end]
}

// computed reports whether it mostly ran on a CPU.
func (d doing) computed() bool { return share(d.OnCPU, d.Wall) >= half }

// short continues "which was".
func (d doing) short(computing string) string {
	switch {
	case d.Wall == 0:
		return "not accounted for"
	case d.computed():
		return computing
	case d.Largest() == event.Sleep:
		return "asleep"
	}
	return "held up itself"
}

// minDoing is the least share of the time for which a class is reported.
const minDoing = 0.1

// long describes what the thread did, in words that follow its name.
func (d doing) long() string {
	if d.Wall == 0 {
		return "what it did was not recorded"
	}
	if d.computed() && share(d.OnCPU, d.Wall) > 1-minDoing {
		return "ran on a CPU"
	}
	var parts []string
	for _, c := range event.Classes() {
		if v := d.Of(c); share(v, d.Wall) >= minDoing {
			parts = append(parts, c.Did()+" "+span(v))
		}
	}
	return strings.Join(parts, ", ")
}

func (d doing) state() string {
	switch c := d.Largest(); {
	case d.Wall == 0:
		return "unknown"
	case c == event.OnCPU || d.computed():
		return "running"
	case c == event.RunQueue:
		return "runnable"
	}
	return "blocked"
}

func (d doing) on() string {
	if c := d.Largest(); d.Wall != 0 && c != event.OnCPU && !d.computed() {
		return c.String()
	}
	return "a CPU"
}
