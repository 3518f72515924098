package mcptool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/recording"
	"github.com/ingero-io/ingero/store"
)

// scope is the part of a recording that a call is about.
type scope struct {
	Since   string `json:"since,omitempty" jsonschema:"5m, 1d, all, FROM/TO; default all, 5m while being written"`
	PID     int64  `json:"pid,omitempty" jsonschema:"only this process; default all"` // any number that a client sends
	Process string `json:"process,omitempty" jsonschema:"only of this name; default all"`
}

// common is what every answer on a recording says.
type common struct {
	Window  string  `json:"window"`         // FROM/TO, as in ISO 8601
	Note    string  `json:"note,omitempty"` // how the window was chosen, and what it leaves out
	Dropped dropped `json:"dropped"`        // of the whole recording

	live bool // the recording goes on
}

// view is an open recording, cut to a scope.
type view struct {
	store.Recording
	recording.Part
	pids []uint32 // only these; empty: all
}

// read opens the recording for a call, and tells what every answer on it says.
func (s *server) read(ctx context.Context, in scope, c *common, f func(*view) error) error {
	return s.src.Read(ctx, func(r store.Recording) error {
		v := &view{Recording: r}
		var err error
		if v.Part, err = recording.Choose(ctx, r, in.span(), s.opts.Now()); err != nil {
			return err
		}
		if v.pids, err = v.choose(ctx, in); err != nil {
			return err
		}
		*c = v.common()
		return f(v)
	})
}

// span is the time that is asked for. The window of an answer can be asked for
// again.
func (in scope) span() store.Span {
	if from, to, ok := strings.Cut(in.Since, "/"); ok {
		return store.Span{From: strings.TrimSpace(from), To: strings.TrimSpace(to)}
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
	return nil, fmt.Errorf("no process %s was recorded; %s", name(in.Process), store.Suggest(in.Process, names, "the traced ones"))
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
func (v *view) whole() bool { return len(v.pids) == 0 && v.Whole() }

// common tells the window, what it leaves out, and what could not be recorded.
func (v *view) common() common {
	from, to := v.Bounds()
	note := v.Note
	if uncounted(v.Recording) {
		note = joined(note, lossUnknown)
	}
	return common{
		Window: clock(from) + "/" + clock(to), Note: note, Dropped: droppedOf(event.LossCounts(v.Sum.Losses)), live: v.Live,
	}
}

// bySecond notes that what an answer counts by the second is more than the window where
// that begins or ends within one.
func (v *view) bySecond(c *common) {
	if v.cutsSecond() {
		c.Note = joined(c.Note, bySeconds)
	}
}

// cutsSecond reports whether the window begins or ends within a second of the recording.
func (v *view) cutsSecond() bool { return v.cuts(v.Window.From, false) || v.cuts(v.Window.To, true) }

const bySeconds = "counts, sums and rates are of the whole seconds that this window touches"

// cuts reports whether a bound of the window cuts a second of the recording in two, so
// that something of it lies outside.
func (v *view) cuts(at uint64, end bool) bool {
	if at%1e9 == 0 || uncounted(v.Recording) {
		return false
	}
	if end {
		return at <= v.Sum.Last
	}
	return at > v.Sum.First && at <= v.Sum.Last
}

// lossUnknown is told where nothing lost does not mean that there was none.
const lossUnknown = "an earlier Ingero recorded this and did not count what it lost"

// uncounted reports whether a recording does not say what was lost.
func uncounted(r store.Recording) bool {
	_, earlier := r.(store.LegacyReader)
	return earlier
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
	return 0, fmt.Errorf("there is no operation %s; %s", name(s), store.Suggest(s, names, "operations"))
}
