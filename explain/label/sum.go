package label

import (
	"cmp"
	"context"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
)

// sum fills in the sums of the rows.
func (m *machine) sum(ctx context.Context, source string) error {
	if source == Seconds {
		return m.sumSeconds(ctx)
	}
	return m.sumCalls(ctx)
}

// sumSeconds sums exact values of whole seconds.
func (m *machine) sumSeconds(ctx context.Context) error {
	for _, r := range m.rows {
		for _, s := range r.intervals {
			w := store.Window{From: recording.NearestSecond(s.from), To: recording.NearestSecond(s.to)}
			if w.To <= w.From {
				continue
			}
			list, err := recording.ThreadLedgers(ctx, m.Recording, w)
			if err != nil {
				return err
			}
			for i := range list {
				t := &list[i]
				if !r.has(t.Thread) {
					continue
				}
				to := r.of(t.TID)
				to.calls += t.Calls
				to.callNS += t.CallNS
				to.in.Add(&t.In)
				to.between.Add(&t.Between)
			}
		}
	}
	return nil
}

// interval is an interval of a row.
type interval struct {
	span
	row *Row
}

// timeline has the intervals of a process by begin, and the position of a reader of events by time.
type timeline struct {
	list   []interval
	next   int        // the first one that had not begun at the last time
	active []interval // those that had begun, and not ended
}

// timelines returns the timelines of all processes.
func (m *machine) timelines() map[uint32]*timeline {
	all := map[uint32]*timeline{}
	for _, r := range m.rows {
		t := all[r.PID]
		if t == nil {
			t = &timeline{}
			all[r.PID] = t
		}
		for _, s := range r.intervals {
			t.list = append(t.list, interval{s, r})
		}
	}
	for _, t := range all {
		slices.SortStableFunc(t.list, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	}
	return all
}

// at advances to a time, not before the last one, and calls f for each row that holds for a thread then.
func (t *timeline) at(at uint64, of event.Thread, f func(*Row)) {
	for t.next < len(t.list) && t.list[t.next].from <= at {
		t.active = append(t.active, t.list[t.next])
		t.next++
	}
	t.active = slices.DeleteFunc(t.active, func(i interval) bool { return i.to <= at })
	for _, i := range t.active {
		if i.row.has(of) {
			f(i.row)
		}
	}
}

// share calls f with the rows that hold for a thread between the last time and end, and each one's part of that time.
func (t *timeline) share(from, end uint64, of event.Thread, f func(r *Row, part float64)) {
	all := float64(max(end-from, 1))
	tell := func(i *interval, from uint64) {
		if i.row.has(of) {
			f(i.row, float64(min(i.to, end)-from)/all)
		}
	}
	for n := range t.active {
		tell(&t.active[n], from)
	}
	for n := t.next; n < len(t.list) && t.list[n].from < end; n++ {
		tell(&t.list[n], t.list[n].from)
	}
}

// window returns the time that has intervals. Events that begin earlier may reach into it.
func (m *machine) window() (w store.Window) {
	for _, r := range m.rows {
		for _, s := range r.intervals {
			if w.From == 0 || s.from < w.From {
				w.From = s.from
			}
			w.To = max(w.To, s.to)
		}
	}
	w.From -= min(w.From, uint64(store.Reach))
	return w
}

// sumCalls sums stored calls and the gaps between them. A call counts where it begins. Its duration and its thread's
// waits are shared among the intervals that it spans, by time.
func (m *machine) sumCalls(ctx context.Context) error {
	if len(m.rows) == 0 {
		return nil
	}
	calls := m.timelines()
	err := m.Calls(ctx, m.window(), func(c *event.Call) bool {
		t := calls[c.PID]
		if t == nil || c.Depth > 0 {
			return true
		}
		t.at(c.Start, c.Thread, func(r *Row) { r.of(c.TID).calls += uint64(max(c.Weight, 1)) })
		ns := c.TotalNS()
		t.share(c.Start, c.End(), c.Thread, func(r *Row, part float64) {
			s := r.of(c.TID)
			s.callNS += uint64(float64(ns)*part + 0.5)
			addPart(&s.in, &c.Ledger, part)
		})
		return true
	})
	if err != nil {
		return err
	}
	gaps := m.timelines()
	return m.NotableGaps(ctx, m.window(), func(g *event.Gap) bool {
		if t := gaps[g.PID]; t != nil {
			t.at(g.Start, g.Thread, func(*Row) {})
			t.share(g.Start, g.Start+g.Duration, g.Thread, func(r *Row, part float64) {
				addPart(&r.of(g.TID).between, &g.Ledger, part)
			})
		}
		return true
	})
}

// addPart adds a part of a ledger's times to another ledger.
func addPart(to, l *event.Ledger, part float64) {
	for c, ns := range l.NS {
		if ns > 0 {
			to.NS[c] += uint64(float64(ns)*part + 0.5)
		}
	}
}
