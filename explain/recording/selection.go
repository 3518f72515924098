package recording

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// Selection is a part of a recording as written behind its name: "14:00-14:05", "0s-30s",
// "pid=4821", "rank=3", "epoch=7", or several of these with commas between them.
type Selection struct {
	From, To   string // times as written; empty: from the begin, to the end
	PID        uint32 // only this process; 0: all
	Rank       int    // only the process of this rank; -1: all
	Key, Value string // only while processes had this label, and only these; empty: always
}

// ParseSelection reads a selection. Spans of time have "-" or ".." between begin and end, of which
// either may be left out.
func ParseSelection(s string) (Selection, error) {
	sel := Selection{Rank: -1}
	for item := range strings.SplitSeq(s, ",") {
		if err := sel.addItem(item); err != nil {
			return sel, err
		}
	}
	return sel, nil
}

func (sel *Selection) addItem(item string) error {
	if v, ok := strings.CutPrefix(item, "pid="); ok {
		n, err := strconv.ParseUint(v, 10, 32)
		if err != nil || n == 0 {
			return fmt.Errorf("pid=%q is not a process id: write a number from 1 on", v)
		}
		sel.PID = uint32(n)
		return nil
	}
	if v, ok := strings.CutPrefix(item, "rank="); ok {
		n, err := strconv.ParseUint(v, 10, 31)
		if err != nil {
			return fmt.Errorf("rank=%q is not a rank: write a number from 0 on", v)
		}
		sel.Rank = int(n)
		return nil
	}
	if key, value, ok := strings.Cut(item, "="); ok && key != "" && value != "" {
		if sel.Key != "" {
			return fmt.Errorf("%s=%s and %s: only one label can be selected", sel.Key, sel.Value, item)
		}
		sel.Key, sel.Value = strings.TrimSpace(key), strings.TrimSpace(value)
		return nil
	}
	from, to, ok := strings.Cut(item, "..")
	if !ok {
		from, to, ok = strings.Cut(item, "-")
	}
	if !ok || from == "" && to == "" || strings.ContainsAny(to, "-") && !strings.Contains(item, "..") {
		return fmt.Errorf(`%q is not a part of a recording: write for example 14:00-14:05 (local time), 14:00Z-14:05Z, `+
			`0s-30s (from its begin), "2026-01-31 14:00..2026-01-31 14:05", pid=4821, rank=3, or a label such as epoch=7`, item)
	}
	sel.From, sel.To = strings.TrimSpace(from), strings.TrimSpace(to)
	return nil
}

// Window returns the selected time of a recording, from and to the nearest whole seconds, by which statistics are
// kept. IsMistaken holds for its errors.
func (sel *Selection) Window(sum store.Summary) (w store.Window, err error) {
	if w, err = sel.window(sum); err != nil {
		return w, spanError{err}
	}
	return w, nil
}

func (sel *Selection) window(sum store.Summary) (w store.Window, err error) {
	if sum.Last == 0 {
		return w, errors.New("the recording is empty")
	}
	if sel.From != "" {
		if w.From, err = moment(sel.From, sum); err != nil {
			return w, err
		}
		w.From = NearestSecond(w.From)
	}
	if sel.To != "" {
		if w.To, err = moment(sel.To, sum); err != nil {
			return w, err
		}
		w.To = NearestSecond(w.To)
	}
	if w.To != 0 && w.To <= w.From {
		return w, fmt.Errorf("%s is not after %s", sel.To, sel.From)
	}
	if w.From > sum.Last || w.To != 0 && w.To <= sum.First {
		utc := func(ns uint64) string { return time.Unix(0, int64(ns)).UTC().Format(time.RFC3339) }
		return w, fmt.Errorf("nothing was recorded in %s-%s: the recording is from %s to %s", sel.From, sel.To,
			utc(sum.First), utc(sum.Last))
	}
	return w, nil
}

// View returns the selected part of a recording. IsMistaken holds for an error in the selection.
func (sel *Selection) View(ctx context.Context, r store.Recording) (v *View, err error) {
	v = &View{Recording: r}
	if v.Sum, err = r.Summary(ctx); err != nil {
		return nil, err
	}
	if v.Window, err = sel.Window(v.Sum); err != nil {
		return nil, err
	}
	if v.PIDs, err = sel.Processes(ctx, r); err != nil || sel.Key == "" {
		return v, err
	}
	return v, sel.label(ctx, v)
}

// leastLabelled is the share of the time from first to last in which a label must hold, so that the time between is
// meaningful.
const leastLabelled = 0.8

// label cuts a view to the time in which the label held, in whole seconds, and to the processes that had it.
func (sel *Selection) label(ctx context.Context, v *View) error {
	list, err := store.List[store.Label](ctx, v, v.Window)
	if err != nil {
		return err
	}
	values, had := map[string]bool{}, map[uint32]bool{}
	var from, to, held uint64
	for i := range list {
		l := &list[i]
		switch {
		case l.Key != sel.Key || len(v.PIDs) > 0 && !slices.Contains(v.PIDs, l.PID):
			continue
		case l.Value != sel.Value:
			values[l.Value] = true
			continue
		}
		if from == 0 || l.From < from {
			from = l.From
		}
		held += l.To - min(l.From, l.To)
		to = max(to, l.To)
		had[l.PID] = true
	}
	if len(had) == 0 {
		return spanError{fmt.Errorf("no process had the label %s=%s; %s", sel.Key, sel.Value, listed(sel.Key, values))}
	}
	if share := float64(held) / float64(len(had)) / float64(max(to-from, 1)); share < leastLabelled {
		return spanError{fmt.Errorf("%s=%s held in %.0f %% of the time from its first begin to its last end only; "+
			"select one of these times, too", sel.Key, sel.Value, 100*share)}
	}
	v.Window = store.Window{From: NearestSecond(from), To: NearestSecond(to)}
	if v.Window.To <= v.Window.From {
		return spanError{fmt.Errorf("%s=%s held for %s only; statistics are by the second", sel.Key, sel.Value,
			report.Duration(to-from))}
	}
	v.PIDs = v.PIDs[:0]
	for pid := range had {
		v.PIDs = append(v.PIDs, pid)
	}
	slices.Sort(v.PIDs)
	return nil
}

// listed lists the values that a label had.
func listed(key string, values map[string]bool) string {
	const most = 12
	if len(values) == 0 {
		return "there is no label of that key"
	}
	list := slices.Sorted(maps.Keys(values))
	if len(list) > most {
		list = append(list[:most], "…")
	}
	return key + " was " + report.Printable(strings.Join(list, ", "))
}

// Processes returns the processes of a selection; none means all. IsMistaken holds for the error that there are none.
func (sel *Selection) Processes(ctx context.Context, r store.Recording) ([]uint32, error) {
	if sel.PID == 0 && sel.Rank < 0 {
		return nil, nil
	}
	list, err := store.List[store.Process](ctx, r, store.Window{})
	if err != nil {
		return nil, err
	}
	var pids []uint32
	var traced []string
	for i := range list {
		p := &list[i]
		if !p.Traced {
			continue
		}
		if (sel.PID == 0 || p.PID == sel.PID) && (sel.Rank < 0 || p.Rank == sel.Rank) {
			pids = append(pids, p.PID)
		}
		is := fmt.Sprintf("%s (%d)", report.Printable(p.Name), p.PID)
		if p.Rank >= 0 {
			is = fmt.Sprintf("%s (%d, rank %d)", report.Printable(p.Name), p.PID, p.Rank)
		}
		traced = append(traced, is)
	}
	if len(pids) > 0 {
		return pids, nil
	}
	if len(traced) > maxTraced {
		traced = append(traced[:maxTraced], "…")
	}
	return nil, spanError{fmt.Errorf("no such process was recorded; traced were %s", strings.Join(traced, ", "))}
}

// maxTraced is how many processes an error lists.
const maxTraced = 16

// NearestSecond returns the nearest whole second, by which statistics are kept; Unix ns.
func NearestSecond(ns uint64) uint64 {
	const second = uint64(time.Second)
	return (ns + second/2) / second * second
}

// moment parses a point in time: a time of day, on the day on which the recording has it; a duration since the
// recording's begin; or what Span accepts.
func moment(s string, sum store.Summary) (uint64, error) {
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return sum.First + uint64(d), nil
	}
	return Span{}.time("time", s, sum)
}
