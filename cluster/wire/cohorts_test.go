package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/cluster/wire"
)

func TestListsOfCohortsAreChecked(t *testing.T) {
	l, err := wire.ParseCohortList([]byte(`{"cohorts":[{"cluster_id":"a\u001b[2J","cohort":"00","ranks":4,"live":3,"new":[1],
		"members":[{"rank":2,"node_id":"` + strings.Repeat("n", 1000) + `","state":"active","age_s":12.3,"missing":true}]}],"whole":true}`))
	if err != nil || len(l.Cohorts) != 1 || l.Cohorts[0].Cluster != "a?[2J" || len(l.Cohorts[0].Members[0].Node) > 256 {
		t.Fatalf("%+v, %v", l, err)
	}
	if own, peer, slower, state := l.Cohorts[0].Members[0].Text(); own != "-" || peer != "-" || slower != "" ||
		state != "active, nothing came for 12s" {
		t.Errorf("%s, %s, %s, %s", own, peer, slower, state)
	}
	for _, bad := range []string{"", "[]", `{"cohorts":3}`, strings.Repeat(" ", wire.MaxCohortList+1)} {
		if _, err := wire.ParseCohortList([]byte(bad)); !errors.As(err, new(*wire.Error)) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

func TestEventsAreSentences(t *testing.T) {
	rank, own, peer, excess := int32(5), 14.2, 11.1, 0.28
	e := wire.Event{
		Type: wire.EventStraggler, Node: "gpu-05", Rank: &rank, WorldSize: 8, OwnMS: &own, PeerMS: &peer, Excess: &excess,
		Cause: &wire.Cause{Kind: "cpu_contention", Culprit: "stress (process 7)", MS: 2.91},
	}
	const want = "rank 5 of 8 on gpu-05 (python, process 4821) is slower than its peers: 14.2 ms of own work a step, peers' " +
		"11.1 ms (+28 %); cause: cpu_contention, 2.91 ms a step, stress (process 7)"
	if got := e.Line("python, process 4821"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, tc := range []struct {
		kind     string
		resolved bool
		want     string
	}{
		{wire.EventResolved, true, "rank 5 is no longer slower than its peers"},
		{"slow_vs_self", true, "rank 5 is no longer slower than it was"},
		{"gone", false, "rank 5 has ended while its peers run"},
		{"missing", false, "rank 5: nothing comes from its node any more"},
	} {
		e := wire.Event{Type: tc.kind, Rank: &rank, Resolved: tc.resolved}
		if got := e.Line(""); got != tc.want {
			t.Errorf("%s, want %s", got, tc.want)
		}
	}
	if got := (&wire.Event{Type: "cohort_slow"}).Line(""); got != "all ranks together: cohort slow" {
		t.Error(got)
	}
}

func TestCohortsOfSeveralFleets(t *testing.T) {
	at := func(rank int32, state string, age float64) wire.CohortRank {
		return wire.CohortRank{Rank: rank, Node: "n", State: state, AgeS: age}
	}
	a := &wire.CohortList{Whole: true, Cohorts: []wire.Cohorts{
		{Cluster: "c", Cohort: "02", Ranks: 4, Live: 1, StepMS: 1, Members: []wire.CohortRank{at(0, "active", 1), at(1, "active", 30)}},
	}}
	b := &wire.CohortList{Whole: false, Cohorts: []wire.Cohorts{
		{Cluster: "c", Cohort: "01", Ranks: 1, Live: 1, Members: []wire.CohortRank{at(7, "active", 1)}},
		{Cluster: "c", Cohort: "02", Ranks: 4, Live: 2, StepMS: 2, Members: []wire.CohortRank{at(1, "straggler", 1), at(2, "idle", 0)}},
	}}
	got := wire.MergeCohorts(a, b)
	want := &wire.CohortList{Cohorts: []wire.Cohorts{b.Cohorts[0], {
		Cluster: "c", Cohort: "02", Ranks: 4, Live: 3, StepMS: 2,
		Members: []wire.CohortRank{at(0, "active", 1), at(1, "straggler", 1), at(2, "idle", 0)},
	}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(a.Cohorts[0].Members) != 2 || wire.MergeCohorts(a) != a {
		t.Error("what is merged is changed")
	}
}
