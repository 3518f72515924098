package mcptool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
)

// scope is the part of a recording that a call is about.
type scope struct {
	Since   string `json:"since,omitempty" jsonschema:"5m, all, FROM/TO; default all, 5m while written"`
	PID     int64  `json:"pid,omitempty" jsonschema:"only this process; default all"` // any number that a client sends
	Process string `json:"process,omitempty" jsonschema:"or its name; default all"`
}

// common has the fields of every answer on a recording.
type common struct {
	Window  string  `json:"window"`         // FROM/TO, as in ISO 8601
	Note    string  `json:"note,omitempty"` // how the window was chosen, and what it leaves out
	Dropped dropped `json:"dropped"`        // of the whole recording

	live bool // the recording goes on
}

// view is an open recording, cut to a scope.
type view struct{ *recording.View }

// readView opens the recording for a call, and returns the fields of every answer on it.
func (s *server) readView(ctx context.Context, in scope, c *common, f func(*view) error) error {
	return s.src.Read(ctx, func(r store.Recording) error {
		v, err := recording.Ask(ctx, r, in.question(), s.opts.Now())
		if err != nil {
			return in.worded(err)
		}
		one := &view{v}
		*c = one.common()
		return f(one)
	})
}

// question is what is asked of the recording.
func (in scope) question() recording.Question {
	q := recording.Question{Span: in.span()}
	q.Process, q.Shown = in.Process, func(s string) string { return string(name(s)) }
	if in.PID != 0 {
		q.PIDs = []int64{in.PID}
	}
	return q
}

// span is the requested time. It also accepts the window of an earlier answer.
func (in scope) span() recording.Span {
	if from, to, ok := strings.Cut(in.Since, "/"); ok {
		return recording.Span{From: strings.TrimSpace(from), To: strings.TrimSpace(to)}
	}
	if _, err := time.Parse(time.RFC3339Nano, in.Since); err == nil {
		return recording.Span{From: in.Since}
	}
	return recording.Span{Since: in.Since}
}

// worded says what to ask instead if there is no such process.
func (in scope) worded(err error) error {
	no, ok := errors.AsType[*recording.NoProcessError](err)
	switch {
	case !ok:
		return err
	case no.Process == "":
		return fmt.Errorf("no process %d was recorded; leave pid out, or take one from get_trace_stats", no.Unknown[0])
	case len(no.Named) > 0:
		return fmt.Errorf("process %d is not named %s; that name has pid %s", in.PID, name(no.Process), listed(no.Named))
	}
	var names []string
	for _, n := range no.Traced {
		names = append(names, string(name(n)))
	}
	hint := store.Suggest(no.Process, names, "the traced ones")
	return fmt.Errorf("no process %s was recorded; %s", name(no.Process), hint)
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

// whole reports whether the scope is all that was recorded.
func (v *view) whole() bool { return len(v.PIDs) == 0 && v.Whole() }

// common returns the window, what it leaves out, and what could not be recorded.
func (v *view) common() common {
	from, to := v.Bounds()
	note := v.Note
	if v.Uncounted() {
		note = joined(note, lossUnknown)
	}
	return common{
		Window: clock(from) + "/" + clock(to), Note: note, Dropped: droppedOf(event.LossCounts(v.Sum.Losses)), live: v.Live,
	}
}

// bySecond notes that counts are of whole seconds, if the window begins or ends within
// a second.
func (v *view) bySecond(c *common) {
	if v.CutsSecond() {
		c.Note = joined(c.Note, bySeconds)
	}
}

const bySeconds = "counts, sums and rates are of the whole seconds that this window touches"

// lossUnknown is the note for recordings that do not say what was dropped.
const lossUnknown = "an earlier Ingero recorded this; it did not count dropped records"

// clock is a time as RFC 3339 with nanoseconds: as a number it would lose digits in
// readers that use floating point. It is empty for 0.
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
