package diagnose_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/diagnose/diagnosetest"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store/eventtext"
)

// part is a recording without what is not in a span, Unix ns.
func part(all *eventtext.Recording, from, to uint64) *eventtext.Recording {
	out := func(start, end uint64) bool { return start < from || end > to }
	some := *all
	some.Calls = without(all.Calls, func(c *event.Call) bool { return out(c.Start, c.End()) })
	some.Gaps = without(all.Gaps, func(g *event.Gap) bool { return out(g.Start, g.Start+g.Duration) })
	some.OffCPU = without(all.OffCPU, func(o *event.OffCPU) bool { return out(o.Start, o.Start+o.Duration) })
	some.ThreadTimes = without(all.ThreadTimes, func(r *event.ThreadTime) bool { return out(r.At, r.At) })
	return &some
}

// firstFinding is the kind of a report's first finding, and its thread; empty without one.
func firstFinding(r *report.Report) string {
	if len(r.Chains) == 0 {
		return ""
	}
	c := &r.Chains[0]
	return c.Cause.Kind + " of " + c.Effect.Process
}

// A user may look at a part of what was recorded. Where the first finding goes through all of it, that of a window that
// begins a tenth later, or ends a tenth earlier, is the same.
func TestWindowsThatAreMovedHaveTheSameFirstFinding(t *testing.T) {
	tried, seen := 0, 0
	for _, path := range cases(t) {
		_, whole := diagnosed(t, path)
		if len(whole.Chains) == 0 || whole.Chains[0].Pattern == nil || whole.Chains[0].Pattern.Kind == "once" {
			continue
		}
		all := read(t, path)
		var end, longest uint64
		for i := range all.Calls {
			end, longest = max(end, all.Calls[i].End()), max(longest, all.Calls[i].Duration)
		}
		tenth := (end - all.Base) / 10
		if len(all.Calls) == 0 || end-all.Base < 2e9 || longest > tenth { // part leaves such a call out
			continue
		}
		if seen++; seen%3 != 0 { // all of them take long
			continue
		}
		tried++
		for name, window := range map[string][2]uint64{
			"later": {all.Base + tenth, end}, "earlier": {all.Base, end - tenth},
		} {
			got := diagnose.Diagnose(diagnosetest.InputOf(part(all, window[0], window[1])))
			if a, b := firstFinding(whole), firstFinding(got); a != b {
				t.Errorf("%s, %s: %q, in all of it %q", strings.TrimSuffix(filepath.Base(path), ".txtar"), name, b, a)
			}
		}
	}
	if tried < 20 {
		t.Errorf("only %d recordings go on for long enough", tried)
	}
}
