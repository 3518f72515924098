package diagnose_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/eventtest"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// What a fleet said of a rank is one entry from its beginning to its end, with the culprit that became
// known in between; while it lasts it is the verdict, if nothing else is found.
func TestEventsOfRanksAreReported(t *testing.T) {
	const second = 1_000_000_000
	trainer := event.Thread{PID: 7, TID: 7}
	slow := store.RankEvent{
		At: 9 * second, Type: "straggler_state", ID: "a", PID: 7, Rank: 5, Ranks: 8, Since: 4 * second, OwnNS: 31e6, PeerNS: 25e6,
		Cause: "block_io", Summary: "rank 5 of 8 is slower",
	}
	named := slow
	named.At, named.Culprit, named.Summary = 12*second, "wal", "rank 5 of 8 is slower: wal"
	ended := store.RankEvent{At: 20 * second, Type: "straggler_resolved", ID: "a", PID: 7, Rank: 5, Resolved: true, Summary: "over"}
	all := store.RankEvent{At: 21 * second, Type: "cohort_slow", ID: "b", Rank: -1, Summary: "all ranks"}
	before := store.RankEvent{At: 2 * second, Type: "straggler_resolved", ID: "z", PID: 7, Rank: 1, Resolved: true, Summary: "over"}
	of := func(list ...store.RankEvent) *report.Report {
		return diagnose.Diagnose(&diagnose.Input{
			Tables: store.Tables{RankEvents: list}, Node: "n", Window: store.Window{From: second, To: 30 * second},
			Ops: []store.OpStat{{
				Thread: trainer, Op: eventtest.Op(t, "cudaLaunchKernel"), Calls: 10, SumNS: 1000, First: second, Last: 29 * second,
				Hist: &stats.Histogram{},
			}},
		})
	}
	five, one := int32(5), int32(1)
	want := []report.RankEvent{
		{ID: "z", Type: "straggler_resolved", Rank: &one, PID: 7, AtNS: 2 * second, EndedNS: 2 * second, Summary: "over"},
		{
			ID: "a", Type: "straggler_state", Rank: &five, Ranks: 8, PID: 7, AtNS: 9 * second, SinceNS: 4 * second,
			EndedNS: 20 * second, OwnNS: 31e6, PeerNS: 25e6, Cause: "block_io", Culprit: "wal", Summary: "rank 5 of 8 is slower: wal",
		},
		{ID: "b", Type: "cohort_slow", AtNS: 21 * second, Summary: "all ranks"},
	}
	if d := cmp.Diff(want, of(before, slow, named, ended, all).RankEvents); d != "" {
		t.Error(d)
	}
	if r := of(slow, named); r.Verdict != "rank 5 of 8 is slower: wal" {
		t.Errorf("verdict: %s", r.Verdict)
	}
	if r := of(slow, ended); strings.Contains(r.Verdict, "rank") {
		t.Errorf("verdict after its end: %s", r.Verdict)
	}
	var b strings.Builder
	if err := report.WriteText(&b, of(slow, named, ended, all), report.TextOptions{Width: 100}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"[RANK] 00:00:21: all ranks", "[RANK] 00:00:04: rank 5 of 8 is slower: wal; over at 00:00:20",
	} {
		if !strings.Contains(b.String(), line+"\n") {
			t.Errorf("no line %q in\n%s", line, &b)
		}
	}
}
