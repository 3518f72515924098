package straggler

import (
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/internal/cudastub"
)

const began = 1_700_000_000

func told(kind string, rank int32, after float64, cause string) wire.Event {
	e := wire.Event{Type: kind, Rank: &rank, At: time.Unix(began, int64(after*1e9))}
	if cause != "" {
		e.Cause = &wire.Cause{Kind: cause}
	}
	return e
}

func resolved(e wire.Event) wire.Event {
	e.Resolved = true
	return e
}

// planned is a case of the plan.
func planned(t *testing.T, name string, size int) Case {
	t.Helper()
	list, err := Plan(&Options{Only: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if c.SizePct == size {
			return c
		}
	}
	t.Fatalf("no %s of %d %%", name, size)
	return Case{}
}

func TestPlan(t *testing.T) {
	all, err := Plan(&Options{})
	if err != nil || len(all) != 6*3+6 {
		t.Errorf("%d cases, %v", len(all), err)
	}
	if quick, err := Plan(&Options{Quick: true}); err != nil || len(quick) != 6+6 || quick[0].Title() != "cpu, 20 %" {
		t.Errorf("quick: %v, %v", quick, err)
	}
	if _, err := Plan(&Options{Only: []string{"disk", "dsik"}}); err == nil {
		t.Error("a name that no case has is accepted")
	}
}

func TestCost(t *testing.T) {
	for added, ok := range map[float64]bool{-0.1: true, costPct: true, costPct + 0.01: false} {
		if r := (Result{Case: planned(t, "cost", 0), AddedPct: &added}); r.OK() != ok {
			t.Errorf("%.2f %% of a core more: %v", added, r.OK())
		}
	}
}

func TestJudge(t *testing.T) {
	const slow = wire.EventStraggler
	missing, gone := health.KindMissing.String(), health.KindGone.String()
	node := []wire.Event{told(missing, 4, 7, ""), told(missing, 5, 7, ""), told(missing, 6, 7, ""), told(missing, 7, 8, "")}
	var back []wire.Event
	for i := range node {
		e := resolved(node[i])
		e.At = e.At.Add(5 * time.Second)
		back = append(back, e)
	}
	for name, tc := range map[string]struct {
		of     string
		size   int
		events []wire.Event
		ok     bool
		told   float64
		wrong  int
	}{
		"in time":                    {"disk", 20, []wire.Event{told(slow, 5, 6, "block_io")}, true, 6, 0},
		"its cause comes later":      {"disk", 20, []wire.Event{told(slow, 5, 6, ""), told(slow, 5, 9, "block_io")}, true, 6, 0},
		"its cause comes too late":   {"disk", 20, []wire.Event{told(slow, 5, 6, ""), told(slow, 5, 11, "block_io")}, false, 6, 0},
		"a small one may take 15 s":  {"disk", 10, []wire.Event{told(slow, 5, 14, "block_io")}, true, 14, 0},
		"late":                       {"disk", 20, []wire.Event{told(slow, 5, 10.5, "block_io")}, false, 10.5, 0},
		"another cause":              {"disk", 30, []wire.Event{told(slow, 5, 6, "on_cpu")}, false, 6, 0},
		"another rank":               {"disk", 20, []wire.Event{told(slow, 4, 6, "block_io")}, false, 0, 1},
		"another rank, too":          {"disk", 20, []wire.Event{told(slow, 5, 6, "block_io"), told(slow, 4, 7, "")}, false, 6, 1},
		"before it was":              {"disk", 20, []wire.Event{told(slow, 5, -3, ""), told(slow, 5, 6, "block_io")}, false, -3, 1},
		"nothing":                    {"disk", 20, nil, false, 0, 0},
		"an even job":                {"even", 0, nil, true, 0, 0},
		"an even job, and an event":  {"even", 0, []wire.Event{told(slow, 5, 6, "")}, false, 0, 1},
		"an exit":                    {"exit", 0, []wire.Event{told(gone, 5, 2, "")}, true, 2, 0},
		"a node that is there again": {"node cut off", 0, append(node, back...), true, 8, 0},
		"a node that stays away":     {"node cut off", 0, node, false, 8, 0},
		"a part of a node":           {"node cut off", 0, node[:3], false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := planned(t, tc.of, tc.size)
			x := Result{Case: c, began: time.Unix(began, 0)}
			c.judge(&x, &cudastub.RanksTruth{LateFrom: began * 1e9, LateNS: []int64{10e6, 20e6}}, tc.events)
			if x.OK() != tc.ok || len(x.False) != tc.wrong || (x.ToldS != nil) != (tc.told != 0) ||
				x.ToldS != nil && *x.ToldS != tc.told {
				t.Errorf("%+v", x)
			}
			if tc.size > 0 && (x.LateMS == nil || *x.LateMS != 15) {
				t.Errorf("late by %v", x.LateMS)
			}
		})
	}
}
