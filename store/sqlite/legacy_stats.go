package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// opStats are the statistics of calls that are listed, and of those that are only counted.
func (e *legacyRows) opStats(w store.Window) []store.OpStat {
	found := make(map[opStatKey]*store.OpStat)
	listed := make(map[countKey]*store.OpStat)
	for i := range e.calls {
		c := &e.calls[i]
		if !w.Contains(c.Start) {
			continue
		}
		o := opStatOf(found, opStatKey{c.Thread, c.Op})
		addCall(o, c)
		o.First, o.Last = min(o.First, c.Start), max(o.Last, c.End())
		o.Ledger.Add(&c.Ledger)
		o.Hist.Add(c.Duration)
		key := countKey{c.Start / minute, c.PID, c.Op}
		if listed[key] == nil {
			listed[key] = &store.OpStat{}
		}
		addCall(listed[key], c)
	}
	busiest := e.busiest()
	for i := range e.counts {
		n := &e.counts[i]
		if !n.call || !e.holds(w, n.from) {
			continue
		}
		t, ok := busiest[n.pid]
		if !ok {
			t = event.Thread{PID: n.pid, TID: n.pid}
		}
		l := listed[countKey{n.from / minute, n.pid, n.op}]
		if l == nil {
			l = &store.OpStat{}
		}
		if n.count > l.Calls {
			e.addUnlisted(opStatOf(found, opStatKey{t, n.op}), n, l)
		}
	}
	out := make([]store.OpStat, 0, len(found))
	for _, o := range found {
		out = append(out, *o)
	}
	slices.SortFunc(out, func(a, b store.OpStat) int {
		return cmp.Or(compareThreads(a.Thread, b.Thread), cmp.Compare(a.Op, b.Op))
	})
	return out
}

type countKey struct {
	minute uint64
	pid    uint32
	op     event.Op
}

// holds reports whether the window contains the whole of a minute with data.
func (e *legacyRows) holds(w store.Window, from uint64) bool {
	return w.From <= max(from, e.first) && (w.To == 0 || w.To > min(from+minute-1, e.last))
}

// busiest is the thread of each process with most of its listed calls.
func (e *legacyRows) busiest() map[uint32]event.Thread {
	calls := make(map[event.Thread]int)
	for i := range e.calls {
		calls[e.calls[i].Thread]++
	}
	best := make(map[uint32]event.Thread)
	for t, n := range calls {
		if b, ok := best[t.PID]; !ok || n > calls[b] || n == calls[b] && t.TID < b.TID {
			best[t.PID] = t
		}
	}
	return best
}

func addCall(o *store.OpStat, c *event.Call) {
	o.Calls++
	o.SumNS += c.Duration
	o.MaxNS = max(o.MaxNS, c.Duration)
	if c.Ret != 0 {
		o.Errors++
	}
	if i := c.Op.Info(); i != nil && i.BytesArg() >= 0 {
		o.Bytes += c.Args[i.BytesArg()]
	}
}

// addUnlisted adds the calls of a minute that are counted but not listed. Their number, sum and
// maximum are exact; the others are assumed to have the mean duration. The count does not name the
// thread; o is that of the thread with most of the process's listed calls.
func (e *legacyRows) addUnlisted(o *store.OpStat, n *legacyCount, listed *store.OpStat) {
	if o.Calls == 0 {
		o.First, o.Last = max(n.from, e.first), min(n.from+minute, e.last)
	}
	left, sum := n.count-listed.Calls, n.sum-min(n.sum, listed.SumNS)
	o.Calls += left
	o.SumNS += sum
	if i := n.op.Info(); i != nil && i.BytesArg() == 0 {
		o.Bytes += n.bytes - min(n.bytes, listed.Bytes)
	}
	if n.max > listed.MaxNS && sum >= n.max {
		o.MaxNS = max(o.MaxNS, n.max)
		o.Hist.Add(n.max)
		left, sum = left-1, sum-n.max
	}
	if left > 0 {
		o.MaxNS = max(o.MaxNS, sum/left)
		o.Hist.AddN(sum/left, uint32(min(left, 1<<32-1)))
	}
}

// Legacy implements store.LegacyReader. A window that contains all events has all chains: some
// were detected before the first stored event.
func (r *legacyReader) Legacy(ctx context.Context, w store.Window) (*store.Legacy, error) {
	e, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	out := &store.Legacy{Switches: e.switches(), Counted: e.countedSwitches(), IDs: map[store.CallKey]string{}}
	for i := range e.calls {
		if c := &e.calls[i]; w.Contains(c.Start) {
			out.IDs[store.CallKey{Thread: c.Thread, Start: c.Start}] = e.ids[i]
		}
	}
	err = r.Reader.rows(ctx, "select value from earlier_schema_info where key = 'version'", nil,
		func(s *sqlite.Stmt) error {
			out.Version = s.ColumnText(0)
			return nil
		})
	if err != nil {
		return nil, err
	}
	if w.From <= e.first && (w.To == 0 || w.To > e.last) {
		w = store.Window{}
	}
	out.Chains, err = r.chains(ctx, w)
	return out, err
}

func (r *legacyReader) chains(ctx context.Context, w store.Window) ([]store.StoredChain, error) {
	var out []store.StoredChain
	err := r.Reader.rows(ctx,
		`select c.id, c.detected_at, c.node, c.severity, c.summary, c.root_cause, c.explanation, c.cuda_op, c.recommendations,
		case c.cuda_op when 'cudaStreamSync' then 'cudaStreamSynchronize' when 'cudaDeviceSync'
		then 'cudaDeviceSynchronize' else c.cuda_op end
		from earlier_causal_chains c where c.detected_at between ? and ?
		order by c.detected_at, c.id`, bounds(w), func(s *sqlite.Stmt) error {
			c := store.StoredChain{
				ID: s.ColumnText(0), At: nonNegative(s, 1), Node: s.ColumnText(2), Severity: s.ColumnText(3),
				Summary:   s.ColumnText(4),
				RootCause: s.ColumnText(5), Explanation: s.ColumnText(6), Op: s.ColumnText(7),
			}
			if i, ok := event.ByName(s.ColumnText(9)); ok {
				c.Call = i.Op
			}
			if text := s.ColumnText(8); text != "" && json.Unmarshal([]byte(text), &c.Recommendations) != nil {
				c.Recommendations = []string{text}
			}
			out = append(out, c)
			return nil
		})
	return out, err
}

// switches says for which threads context switches were recorded.
func (e *legacyRows) switches() map[event.Thread]store.Switches {
	out := map[event.Thread]store.Switches{}
	listed := map[uint32]uint64{}
	for i := range e.off {
		o := &e.off[i]
		s, ok := out[o.Thread]
		if !ok {
			s.From = o.from
		}
		s.To = max(s.To, o.to)
		out[o.Thread] = s
		listed[o.PID] += o.to - o.from
	}
	counted := map[uint32]uint64{}
	for _, n := range e.counts {
		if n.isSwitch {
			counted[n.pid] += n.sum
		}
	}
	for t, s := range out {
		if sum, ok := counted[t.PID]; ok {
			s.Counted, s.Unlisted = true, sum-min(sum, listed[t.PID])
			out[t] = s
		}
	}
	return out
}

// countedSwitches sums the context switches of all processes.
func (e *legacyRows) countedSwitches() (c store.CountedSwitches) {
	processes := map[uint32]bool{}
	for _, n := range e.counts {
		if n.isSwitch {
			c.Switches += n.count
			c.NS += n.sum
			processes[n.pid] = true
		}
	}
	c.Processes = len(processes)
	return c
}
