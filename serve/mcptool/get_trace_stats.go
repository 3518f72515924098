package mcptool

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

type statsIn struct {
	scope
	Op    string `json:"op,omitempty" jsonschema:"only this operation; default all"`
	Layer layer  `json:"layer,omitempty" jsonschema:"only this library; default all"`
	By    rowOf  `json:"by,omitempty" jsonschema:"call_site: waits for the GPU by place; default op"`
	paging
}

// rowOf is what a row of the answer is of.
type rowOf string

const (
	byOp   rowOf = "op"
	bySite rowOf = "call_site"
)

type statsOut struct {
	common
	Calls      uint64    `json:"calls" jsonschema:"outermost ones, unless op or layer is given"`
	Stored     uint64    `json:"stored_rows,omitempty"` // where all of the recording is asked for
	Ops        []opStats `json:"ops"`
	OffCPU     []waiting `json:"off_cpu" jsonschema:"what these threads waited for, nothing twice"`
	NextCursor string    `json:"next_cursor,omitempty"`
}

// opStats are exact statistics of an operation of a process, or of its calls from one place.
type opStats struct {
	Process data          `json:"process"`
	PID     uint32        `json:"pid"`
	Op      string        `json:"op"`
	Calls   uint64        `json:"calls"`
	Errors  uint64        `json:"errors,omitempty"`
	AvgNS   uint64        `json:"avg_ns"`
	P50NS   uint64        `json:"p50_ns"`
	P95NS   uint64        `json:"p95_ns"`
	P99NS   uint64        `json:"p99_ns"`
	MaxNS   uint64        `json:"max_ns"`
	TotalNS uint64        `json:"total_ns"`
	Bytes   uint64        `json:"bytes,omitempty"`
	Kinds   []kindOfCalls `json:"kinds,omitempty" jsonschema:"if short and long ones differ: p50_ns is of most"`

	// If asked for by call_site: the address that the calls return to, and what is known of it.
	Site    string   `json:"call_site,omitempty"`
	Place   data     `json:"place,omitempty"`
	Callers []data   `json:"callers,omitempty"`
	OfPct   *float64 `json:"op_time_pct,omitempty"` // of the operation's time that TotalNS is
}

// kindOfCalls are calls of about the same length.
type kindOfCalls struct {
	Calls uint64 `json:"calls"`
	P50NS uint64 `json:"p50_ns"`
}

func kindsOf(list []report.OpKind) (kinds []kindOfCalls) {
	for _, k := range list {
		kinds = append(kinds, kindOfCalls(k))
	}
	return kinds
}

// waiting is the time that threads were off the CPU in calls and between them.
type waiting struct {
	Class class  `json:"class"`
	NS    uint64 `json:"ns"`
}

func (s statsOut) rows() int { return len(s.Ops) }

var traceStatsTool = tool[statsIn, statsOut]{
	name:  "get_trace_stats",
	about: "Exact counts and latencies of each operation of each process, and what threads waited for.",
	run: func(ctx context.Context, s *server, in statsIn) (out statsOut, err error) {
		op, err := opNamed(in.Op)
		if err != nil {
			return out, err
		}
		err = s.readView(ctx, in.scopeOf(in.scope), &out.common, func(v *view) error {
			v.Op = op
			v.bySecond(&out.common)
			if v.whole() && !in.partly() {
				out.Stored = v.Sum.Stored
			}
			list, err := store.List[store.OpStat](ctx, v, v.Window)
			if err != nil {
				return err
			}
			list = slices.DeleteFunc(list, func(o store.OpStat) bool { return !in.wants(v, o.PID, o.Op) })
			if err := out.addUp(ctx, v, &in, list); err != nil {
				return err
			}
			table, err := in.table(ctx, v, list, &out.common)
			if err != nil {
				return err
			}
			out.Ops, out.NextCursor, err = page(table, in.paging, in, &out.common)
			return err
		})
		return out, err
	},
}

// partly reports whether only some operations are asked for.
func (in *statsIn) partly() bool { return in.Op != "" || in.Layer != "" }

// wants reports whether a process's calls of an operation are asked for.
func (in *statsIn) wants(v *view, pid uint32, op event.Op) bool {
	return v.WantsOp(pid, op) && (in.Layer == "" || op.Source().String() == string(in.Layer))
}

// addUp says of the calls of these operations how many there are, and what was waited for in them. If
// all are asked for, these are outermost ones, and what was waited for between calls is added.
func (s *statsOut) addUp(ctx context.Context, v *view, in *statsIn, list []store.OpStat) (err error) {
	var gaps []store.GapStat // nil: between calls is in none of them
	if !in.partly() {
		if gaps, err = store.List[store.GapStat](ctx, v, v.Window); err != nil {
			return err
		}
		if list, err = recording.Outermost(ctx, v, v.Window, list); err != nil {
			return err
		}
	}
	for i := range list {
		s.Calls += list[i].Calls
	}
	borders, err := recording.ReadBorders(ctx, v, v.Window, func(c *event.Call) bool {
		if !in.partly() {
			return c.Depth == 0
		}
		return in.wants(v, c.PID, c.Op)
	})
	if err != nil {
		return err
	}
	s.OffCPU = v.waits(list, gaps, borders)
	return nil
}

// table has the rows that are asked for, most time first.
func (in *statsIn) table(ctx context.Context, v *view, list []store.OpStat, c *common) ([]opStats, error) {
	names, err := v.Names(ctx)
	if err != nil {
		return nil, err
	}
	if in.By == bySite {
		return in.callSites(ctx, v, names, c)
	}
	return opsOf(list, names), nil
}

// opsOf are the statistics of all processes, most time first.
func opsOf(list []store.OpStat, names map[uint32]string) []opStats {
	var all []opStats
	for pid, ops := range recording.OpTable(list) {
		for i := range ops {
			all = append(all, rowOfOp(pid, names[pid], &ops[i]))
		}
	}
	slices.SortFunc(all, func(a, b opStats) int {
		return cmp.Or(cmp.Compare(b.TotalNS, a.TotalNS), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Op, b.Op))
	})
	return all
}

func rowOfOp(pid uint32, process string, o *report.Op) opStats {
	return opStats{
		Kinds:   kindsOf(o.Kinds),
		Process: name(process), PID: pid, Op: o.Op, Calls: o.Calls, Errors: o.Errors, AvgNS: o.TotalNS / max(o.Calls, 1),
		P50NS: o.P50NS, P95NS: o.P95NS, P99NS: o.P99NS, MaxNS: o.MaxNS, TotalNS: o.TotalNS, Bytes: o.Bytes,
	}
}

// callers are how many of a place's are told.
const callers = 3

// callSites has a row for each place that waits for the GPU, and notes what is not known of them.
func (in *statsIn) callSites(ctx context.Context, v *view, names map[uint32]string, c *common) ([]opStats, error) {
	sites, err := v.FindCallSites(ctx, func(pid uint32, op event.Op) bool { return in.wants(v, pid, op) })
	if err != nil {
		return nil, err
	}
	rows := make([]opStats, len(sites.List))
	others := false
	for i := range sites.List {
		o := &sites.List[i]
		rows[i] = rowOfOp(o.PID, names[o.PID], &o.Op)
		pct := percent(o.TotalNS, o.OfNS)
		rows[i].Site, rows[i].OfPct = fmt.Sprintf("%#x", o.Addr), &pct
		others = others || o.Addr == 0
	}
	from, to := in.reach(len(rows))
	for i := from; i < to; i++ {
		p, err := v.Place(ctx, &sites.List[i])
		if err != nil {
			return nil, err
		}
		rows[i].Place, rows[i].Callers = frame(p.Name), each(p.Callers, callers, frame)
	}
	if len(rows) > 0 {
		c.Note = joined(c.Note,
			"figures are of all calls from a place; place and callers are of those that have a stack, mostly slow ones")
	}
	if others {
		c.Note = joined(c.Note, "call_site 0x0 is places beyond the first 32 of a thread, or not known")
	}
	switch {
	case sites.Unplaced > 0:
		c.Note = joined(c.Note,
			"waits for the GPU of which an earlier Ingero did not record the place: "+report.Count(sites.Unplaced))
	case len(rows) == 0:
		c.Note = joined(c.Note, "none of these calls waits for the GPU; others do not tell their place")
	}
	return rows, nil
}

// waits adds up ledgers, most time first. Gaps are nil if none are to be added.
func (v *view) waits(ops []store.OpStat, gaps []store.GapStat, borders *recording.Borders) []waiting {
	var sum event.Ledger
	wants := func(t event.Thread) bool { return v.Wants(t.PID) }
	for i := range ops {
		sum.Add(&ops[i].Ledger)
	}
	for i := range gaps {
		if v.Wants(gaps[i].PID) {
			sum.Add(&gaps[i].Ledger)
		}
	}
	borders.CutCalls(&sum, wants)
	if gaps != nil {
		borders.CutPauses(&sum, wants)
	}
	out := []waiting{}
	for c, ns := range sum.NS {
		if ns > 0 {
			out = append(out, waiting{class(event.Class(c).String()), ns})
		}
	}
	slices.SortFunc(out, func(a, b waiting) int { return cmp.Compare(b.NS, a.NS) })
	return out
}
