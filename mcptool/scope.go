package mcptool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// scope is the part of a recording that a call is about.
type scope struct {
	Since   string `json:"since,omitempty" jsonschema:"5m (default), all, FROM/TO"`
	PID     int64  `json:"pid,omitempty"` // any number that a client sends; those there are fit into 32 bits
	Process string `json:"process,omitempty"`
}

// common is what every answer on a recording says.
type common struct {
	Window string            `json:"window"`         // FROM/TO, as in ISO 8601
	Note   string            `json:"note,omitempty"` // how the window was chosen
	Lost   map[string]uint64 `json:"lost"`           // records lost, by kind

	live bool // the recording goes on
}

// view is an open recording, cut to a scope.
type view struct {
	sqlite.Recording
	win  store.Window
	note string
	sum  store.Summary
	pids []uint32 // only these; empty: all
}

// read opens the recording for a call, and tells what every answer on it says.
func (s *server) read(ctx context.Context, in scope, c *common, f func(*view) error) error {
	return s.src.Read(ctx, func(r sqlite.Recording) error {
		sum, err := r.Summary(ctx)
		if err != nil {
			return err
		}
		v := &view{Recording: r, sum: sum}
		if v.win, v.note, err = in.span().Window(sum, s.opts.Now()); err != nil {
			return err
		}
		if v.pids, err = v.choose(ctx, in); err != nil {
			return err
		}
		if *c, err = v.common(ctx); err != nil {
			return err
		}
		return f(v)
	})
}

// span is the time that is asked for. The window of an answer can be asked for
// again.
func (in scope) span() store.Span {
	if from, to, ok := strings.Cut(in.Since, "/"); ok {
		return store.Span{From: strings.TrimSpace(from), To: strings.TrimSpace(to)}
	}
	if in.Since == "" {
		in.Since = store.DefaultSince
	}
	if _, err := time.Parse(time.RFC3339Nano, in.Since); err == nil {
		return store.Span{From: in.Since}
	}
	return store.Span{Since: in.Since}
}

// choose finds the processes of a scope.
func (v *view) choose(ctx context.Context, in scope) ([]uint32, error) {
	if in.PID == 0 && in.Process == "" {
		return nil, nil
	}
	list, err := v.Processes(ctx)
	if err != nil {
		return nil, err
	}
	var pids, others []uint32 // others have the name, and another pid
	var names []string
	for i := range list {
		p := &list[i]
		if p.Traced {
			names = append(names, p.Name)
		}
		called := in.Process == "" || strings.EqualFold(p.Name, in.Process) || strings.EqualFold(string(name(p.Name)), in.Process)
		switch {
		case called && (in.PID == 0 || int64(p.PID) == in.PID):
			pids = append(pids, p.PID)
		case called:
			others = append(others, p.PID)
		}
	}
	switch {
	case len(pids) > 0:
		return pids, nil
	case in.Process == "":
		return nil, fmt.Errorf("no process %d was recorded; leave pid out, or take one from get_trace_stats", in.PID)
	case len(others) > 0:
		return nil, fmt.Errorf("process %d is not called %s; who is has pid %s", in.PID, name(in.Process), listed(others))
	}
	for i := range names {
		names[i] = string(name(names[i]))
	}
	return nil, fmt.Errorf("no process %s was recorded; %s", name(in.Process), sqlite.Suggest(in.Process, names, "the traced ones"))
}

// listed writes some numbers.
func listed(pids []uint32) string {
	const most = 5
	text := strings.Trim(strings.ReplaceAll(fmt.Sprint(first(pids, most)), " ", ", "), "[]")
	if len(pids) > most {
		text += ", …"
	}
	return text
}

// wants reports whether a process is in the scope.
func (v *view) wants(pid uint32) bool { return len(v.pids) == 0 || slices.Contains(v.pids, pid) }

// whole reports whether the scope is all that was recorded.
func (v *view) whole() bool {
	return len(v.pids) == 0 && v.win.From <= v.sum.First && (v.win.To == 0 || v.win.To > v.sum.Last)
}

// common tells the window and what was lost in it.
func (v *view) common(ctx context.Context) (common, error) {
	lost, err := v.Losses(ctx, v.win)
	if err != nil {
		return common{}, err
	}
	from, to := v.win.From, v.win.To
	if from == 0 {
		from = v.sum.First
	}
	if to == 0 && v.sum.Last != 0 {
		to = v.sum.Last + 1 // it is the first moment that is not in it
	}
	note := v.note
	if uncounted(v.Recording) {
		note = joined(note, lossUnknown)
	}
	return common{Window: clock(from) + "/" + clock(to), Note: note, Lost: event.LossCounts(lost), live: goesOn(&v.sum)}, nil
}

// bySecond notes that what an answer counts by the second is more than the window where
// that begins or ends within one.
func (v *view) bySecond(c *common) {
	if v.cuts(v.win.From, false) || v.cuts(v.win.To, true) {
		c.Note = joined(c.Note, bySeconds)
	}
}

const bySeconds = "counts, sums and rates are of the whole seconds that this window touches"

// cuts reports whether a bound of the window cuts a second of the recording in two, so
// that something of it lies outside.
func (v *view) cuts(at uint64, end bool) bool {
	if at%1e9 == 0 || uncounted(v.Recording) {
		return false
	}
	if end {
		return at <= v.sum.Last
	}
	return at > v.sum.First && at <= v.sum.Last
}

// lossUnknown is told where nothing lost does not mean that there was none.
const lossUnknown = "an earlier Ingero recorded this and did not count what it lost"

// uncounted reports whether a recording does not say what was lost.
func uncounted(r sqlite.Recording) bool {
	_, earlier := r.(store.EarlierReader)
	return earlier
}

// goesOn reports whether more is being recorded, or the tracer was cut off.
func goesOn(sum *store.Summary) bool {
	n := len(sum.Sessions)
	return n > 0 && sum.Sessions[n-1].Stopped == 0
}

// clock is a time as RFC 3339 with nanoseconds: as a number it would not survive a
// reader that has floating point only. It is empty for 0.
func clock(ns uint64) string {
	if ns == 0 {
		return ""
	}
	return time.Unix(0, int64(ns)).UTC().Format(time.RFC3339Nano)
}

// opNamed finds an operation; 0 for an empty name.
func opNamed(s string) (event.Op, error) {
	if s == "" {
		return 0, nil
	}
	if i, ok := event.ByName(s); ok {
		return i.Op, nil
	}
	var names []string
	for i := range event.Catalog {
		if strings.EqualFold(event.Catalog[i].Name, s) {
			return event.Catalog[i].Op, nil
		}
		names = append(names, event.Catalog[i].Name)
	}
	return 0, fmt.Errorf("there is no operation %s; %s", name(s), sqlite.Suggest(s, names, "operations"))
}
