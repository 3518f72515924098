// Package label sums what processes did by what they said they work on. For each value of a label, such as each
// epoch, it has how long it took, how many calls were made, what the calling thread waited for, and which causes of
// lost time the diagnosis finds in it. It decides nothing itself.
package label

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
)

// Schema is the version of the JSON form. Fields are only ever added to it.
const Schema = 1

// Result is the answer for one key. Times are nanoseconds.
type Result struct {
	Schema int    `json:"schema"`
	DB     string `json:"db"`
	Key    string `json:"key"`
	Source string `json:"source"` // of the sums: seconds, calls
	Note   string `json:"note"`   // what the sums cover
	Rows   []Row  `json:"rows"`   // by the begin of the first interval
	Checks int    `json:"checks"` // diagnosed rows: those that waited most
}

// The sources of sums.
const (
	Seconds = "seconds" // exact sums of whole seconds
	Calls   = "calls"   // the stored calls, and waits between them
)

// Row is a value of the label in a process.
type Row struct {
	Value     string `json:"value"`
	Process   string `json:"process"`
	PID       uint32 `json:"pid"`
	Node      string `json:"node,omitempty"` // if the recording has several machines
	FromNS    uint64 `json:"from_ns"`        // Unix ns, begin of the first interval
	Intervals int    `json:"intervals"`      // in which it held
	TimeNS    uint64 `json:"time_ns"`        // total
	// of the thread with most time in calls, which the rest is about; 0: none. Ranges of a thread are about its own
	TID       uint32            `json:"tid"`
	Calls     uint64            `json:"calls"` // without nested calls
	CallNS    uint64            `json:"call_ns"`
	InNS      map[string]uint64 `json:"waits_in_calls_ns"`      // by class
	BetweenNS map[string]uint64 `json:"waits_between_calls_ns"` // by class
	Checked   bool              `json:"checked"`                // Causes says what the diagnosis finds
	Causes    []Cause           `json:"causes,omitempty"`       // most lost time first

	only      uint32 // the thread whose calls have the label; 0: all
	intervals []span
	sums      map[uint32]*sums // by thread
	waits     uint64
}

// Cause is a cause of lost time in the longest interval of a row.
type Cause struct {
	Kind     string         `json:"kind"` // empty: the evidence does not show it
	Severity event.Severity `json:"severity"`
	Summary  string         `json:"summary"`
	LostNS   uint64         `json:"lost_ns"`
	LostPct  float64        `json:"lost_pct"` // of the interval
}

// span is an interval in which a value held, half-open, Unix ns.
type span struct{ from, to uint64 }

// sums are a thread's sums in a row.
type sums struct {
	calls, callNS uint64
	in, between   event.Ledger
}

// Options define the question.
type Options struct {
	Key string
	DB  string // for users

	SumsOnly bool // skip the search for causes
}

// Limits of what is shown and diagnosed.
const (
	exactFrom    = 10 * time.Second // median length of intervals from which sums of seconds are used
	mostExact    = 2000             // intervals that are summed up by seconds
	diagnoseFrom = time.Second      // length of an interval that can be diagnosed
	mostDiagnose = 8                // rows that are diagnosed
)

// NoKeyError means that nothing has such a label.
type NoKeyError struct {
	Key  string
	Have []string // existing keys
}

// Error implements error.
func (e *NoKeyError) Error() string {
	if len(e.Have) == 0 {
		return "no labels were recorded in this time; programs set them: ingero trace --annotate, docs/labels.md"
	}
	return fmt.Sprintf("no label %q was recorded in this time; there are: %s", e.Key, strings.Join(e.Have, ", "))
}

// By adds up the calls of a view for each value of a label.
func By(ctx context.Context, v *recording.View, o Options) (*Result, error) {
	machines, done, err := recording.Machines(ctx, v.Recording)
	if err != nil {
		return nil, err
	}
	defer done()
	r := &Result{Schema: Schema, DB: o.DB, Key: o.Key, Rows: []Row{}}
	keys := map[string]bool{}
	list := make([]machine, len(machines))
	for i, m := range machines {
		full, ok := m.(store.Recording)
		if !ok {
			return nil, errors.New("read labels: one machine of several has no calls")
		}
		list[i].Recording = full
		if err := list[i].readLabels(ctx, v, o.Key, len(machines) > 1, keys); err != nil {
			return nil, err
		}
	}
	if !keys[o.Key] {
		e := &NoKeyError{Key: o.Key}
		for k := range keys {
			e.Have = append(e.Have, k)
		}
		slices.Sort(e.Have)
		return nil, e
	}
	r.Source = source(list)
	r.Note = notes[r.Source]
	for i := range list {
		if err := list[i].sum(ctx, r.Source); err != nil {
			return nil, err
		}
		choose(list[i].rows)
	}
	if !o.SumsOnly {
		if err := check(ctx, list, r); err != nil {
			return nil, err
		}
	}
	for i := range list {
		for _, row := range list[i].rows {
			r.Rows = append(r.Rows, *row)
		}
	}
	slices.SortStableFunc(r.Rows, func(a, b Row) int { return cmp.Compare(a.FromNS, b.FromNS) })
	return r, nil
}

var notes = map[string]string{
	Seconds: "exact sums of the seconds of each interval; its first and last second are rounded to the nearest border",
	Calls: "calls: all, also those of thinned recordings; waits: all within calls, and those between calls that are " +
		"recorded one by one (50 us and more)",
}

// machine is a machine of the recording and its rows.
type machine struct {
	store.Recording
	rows []*Row
}

// readLabels reads the labels with the key, and notes all keys.
func (m *machine) readLabels(
	ctx context.Context, v *recording.View, key string, several bool, keys map[string]bool,
) error {
	labels, err := store.List[store.Label](ctx, m, v.Window)
	if err != nil {
		return err
	}
	procs, err := store.List[store.Process](ctx, m, store.Window{})
	if err != nil {
		return err
	}
	sum, err := m.Summary(ctx)
	if err != nil {
		return err
	}
	names := map[uint32]string{}
	for i := range procs {
		names[procs[i].PID] = procs[i].Name
	}
	type id struct {
		pid, tid uint32
		value    string
	}
	at := map[id]*Row{}
	for i := range labels {
		l := &labels[i]
		if !v.Wants(l.PID) {
			continue
		}
		if keys[l.Key] = true; l.Key != key {
			continue
		}
		row := at[id{l.PID, l.TID, l.Value}]
		if row == nil {
			row = &Row{
				Value: l.Value, PID: l.PID, only: l.TID, Process: names[l.PID], FromNS: l.From, sums: map[uint32]*sums{},
			}
			if several {
				row.Node = sum.Node
			}
			at[id{l.PID, l.TID, l.Value}] = row
			m.rows = append(m.rows, row)
		}
		row.addSpan(span{l.From, l.To})
	}
	return nil
}

// addSpan adds an interval that begins no earlier than those before. If it overlaps the last one, it extends that.
func (r *Row) addSpan(s span) {
	if n := len(r.intervals); n > 0 && s.from < r.intervals[n-1].to {
		last := &r.intervals[n-1]
		r.TimeNS += max(s.to, last.to) - last.to
		last.to = max(s.to, last.to)
		return
	}
	r.intervals = append(r.intervals, s)
	r.TimeNS += s.to - s.from
	r.Intervals++
}

// source returns what the sums can be made from.
func source(list []machine) string {
	var lengths []uint64
	for i := range list {
		for _, r := range list[i].rows {
			for _, s := range r.intervals {
				lengths = append(lengths, s.to-s.from)
			}
		}
	}
	slices.Sort(lengths)
	if n := len(lengths); n > 0 && n <= mostExact && lengths[n/2] >= uint64(exactFrom) {
		return Seconds
	}
	return Calls
}

// has reports whether calls of a thread have the label.
func (r *Row) has(t event.Thread) bool { return r.PID == t.PID && (r.only == 0 || r.only == t.TID) }

// of returns the sums of a thread.
func (r *Row) of(tid uint32) *sums {
	s := r.sums[tid]
	if s == nil {
		s = &sums{}
		r.sums[tid] = s
	}
	return s
}

// choose takes over the sums of one thread per process: of those whose calls have the label, the one with most time
// in calls over all rows.
func choose(rows []*Row) {
	type process struct{ pid, only uint32 }
	totals := map[process]map[uint32]*[2]uint64{} // by thread: in calls, waiting between them
	for _, r := range rows {
		p := process{r.PID, r.only}
		if totals[p] == nil {
			totals[p] = map[uint32]*[2]uint64{}
		}
		for tid, s := range r.sums {
			if totals[p][tid] == nil {
				totals[p][tid] = &[2]uint64{}
			}
			totals[p][tid][0] += s.callNS
			totals[p][tid][1] += total(&s.between)
		}
	}
	for _, r := range rows {
		var best [2]uint64
		for tid, t := range totals[process{r.PID, r.only}] {
			switch c := slices.Compare(t[:], best[:]); {
			case r.TID == 0, c > 0, c == 0 && tid < r.TID:
				best, r.TID = *t, tid
			}
		}
		r.takeSums(r.of(r.TID))
	}
}

// takeSums takes over the sums of a thread.
func (r *Row) takeSums(s *sums) {
	r.InNS, r.BetweenNS = map[string]uint64{}, map[string]uint64{}
	r.Calls, r.CallNS, r.waits = s.calls, s.callNS, total(&s.between)
	for c := range event.NumClasses {
		if ns := s.in.NS[c]; ns > 0 {
			r.InNS[c.String()] = ns
		}
		if ns := s.between.NS[c]; ns > 0 {
			r.BetweenNS[c.String()] = ns
		}
	}
}

// total returns the time of all classes, ns.
func total(l *event.Ledger) (ns uint64) {
	for _, n := range l.NS {
		ns += n
	}
	return ns
}

// check diagnoses the longest intervals of the rows that waited most between calls, relative to their time.
func check(ctx context.Context, list []machine, r *Result) error {
	type candidate struct {
		*machine
		*Row
	}
	var all []candidate
	for i := range list {
		for _, row := range list[i].rows {
			if s := row.longest(); s.to-s.from >= uint64(diagnoseFrom) && row.Calls > 0 {
				all = append(all, candidate{&list[i], row})
			}
		}
	}
	share := func(c candidate) float64 { return float64(c.waits) / float64(max(c.TimeNS, 1)) }
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(share(b), share(a)) })
	for _, c := range all[:min(len(all), mostDiagnose)] {
		s := c.longest()
		rep, err := diagnose.Explain(ctx, c.Recording, store.Window{From: s.from, To: s.to}, func(in *diagnose.Input) {
			in.Only([]uint32{c.PID})
		})
		if err != nil {
			return err
		}
		c.Checked = true
		r.Checks++
		for i := range rep.Chains {
			ch := &rep.Chains[i]
			c.Causes = append(c.Causes, Cause{ch.Cause.Kind, ch.Severity, ch.Summary, ch.LostNS, ch.LostPct})
		}
		for i := range rep.NotExplained {
			n := &rep.NotExplained[i]
			c.Causes = append(c.Causes, Cause{Summary: n.Effect.Op + ": " + n.Why, LostNS: n.LostNS, LostPct: n.LostPct})
		}
		slices.SortStableFunc(c.Causes, func(a, b Cause) int { return cmp.Compare(b.LostNS, a.LostNS) })
	}
	return nil
}

// longest returns the longest interval.
func (r *Row) longest() (s span) {
	for _, x := range r.intervals {
		if x.to-x.from > s.to-s.from {
			s = x
		}
	}
	return s
}
