package mcptool_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/ingero-io/ingero/echo/cost"
	"github.com/ingero-io/ingero/echo/demo"
	"github.com/ingero-io/ingero/echo/made"
	"github.com/ingero-io/ingero/echo/mcptool"
)

// The answers, as far as tests use them.
type (
	next struct {
		Tool, At  string
		Arguments map[string]any
	}
	seen struct {
		Ranks, Nodes, Collectives, Alone, Unknown int
		SharePct                                  float64 `json:"share_pct"`
		AgentEvents                               int     `json:"agent_events"`
	}
	stragglers struct {
		Window, Verdict, Note string
		Seen                  seen
		Stragglers            []struct {
			ClusterID   string `json:"cluster_id"`
			NodeID      string `json:"node_id"`
			Rank        int
			PID         int64
			Since, Last string
			Resolved    bool
			Collectives *struct {
				Late, Of, Every int
				LateMS          float64            `json:"late_ms"`
				LostPct         float64            `json:"lost_pct"`
				Waiting         int                `json:"waiting_ranks"`
				Before          map[string]float64 `json:"before_ms"`
			}
			Agent *struct {
				ExcessPct float64 `json:"excess_pct"`
			}
			Why struct {
				Kind, Culprit, By, Finding string
				ExplainedPct               float64 `json:"explained_pct"`
				NotKnown                   string  `json:"not_known"`
			}
			Address string
		}
		NotBlamed []string `json:"not_blamed"`
		Others    []string `json:"other_events"`
		Next      []next
	}
	costs struct {
		Verdict, Note, Currency string
		GPUHours                float64 `json:"gpu_hours"`
		Money                   float64
		Rates                   struct{ Source, Date string }
		Waste                   []struct {
			Rank, WaitingRanks int
			NodeID             string  `json:"node_id"`
			GPUHours           float64 `json:"gpu_hours"`
			PerHour            float64 `json:"per_gpu_hour"`
			LostS              float64 `json:"lost_s"`
			GPUs, By           string
		}
	}
	outliers struct {
		Verdict, Note, Measure, Worse string
		Cohorts                       []struct {
			ClusterID   string `json:"cluster_id"`
			GPU         string
			N, Outliers int
			Median, MAD float64
			Why         string
		}
		Ranked []struct {
			ClusterID string `json:"cluster_id"`
			NodeID    string `json:"node_id"`
			Rank      *int
			GPU       string
			Value     float64
			Sigmas    float64
			Outlier   bool
			Beyond    int
		}
		Next []next
	}
)

// The tools find in the recorded cluster what was wrong in it, and blame nobody else.
func TestTheDemo(t *testing.T) {
	requests, err := demo.Requests(end)
	if err != nil {
		t.Fatal(err)
	}
	cs := connect(t, tools(filled(t, requests)))
	var late stragglers
	call(t, cs, "fleet.cluster.find_stragglers", nil, &late)
	if len(late.Stragglers) != 1 || late.Seen.Ranks != 8 || late.Seen.Nodes != 2 {
		t.Fatalf("%+v", late)
	}
	s := late.Stragglers[0]
	if s.Rank != 5 || s.NodeID != "node-b" || s.Collectives.Every != 14 || math.Abs(s.Collectives.LateMS-290) > 0.05*290 ||
		s.Why.Kind != "cpu_contention" || s.Why.Culprit != "backup-agent" || s.Why.NotKnown != "" ||
		!strings.HasPrefix(s.Since, "2026-05-28T20:2") || !strings.HasPrefix(s.Last, "2026-05-28T20:26:3") {
		t.Errorf("%+v", s)
	}
	if n := late.Next; len(n) == 0 || n[0].Tool != "diagnose" || n[0].At == "" {
		t.Errorf("%+v", n)
	}
	var cost costs
	call(t, cs, "fleet.cluster.get_cost", nil, &cost)
	if len(cost.Waste) != 1 || cost.Waste[0].Rank != 5 || cost.Waste[0].GPUs != "7 of unknown price" ||
		math.Abs(cost.GPUHours-7*cost.Waste[0].LostS/3600) > 0.001 {
		t.Errorf("%+v", cost)
	}
	var waits, operations outliers
	args := map[string]any{"metric": "ingero.collective.barrier_wait", "of": "rank"}
	call(t, cs, "fleet.cluster.find_outlier_nodes", args, &waits)
	if r := waits.Ranked[0]; len(waits.Ranked) != 8 || *r.Rank != 5 || !r.Outlier || waits.Ranked[1].Outlier {
		t.Errorf("%+v", waits)
	}
	args["metric"] = "ingero.collective.operations"
	call(t, cs, "fleet.cluster.find_outlier_nodes", args, &operations)
	if len(operations.Ranked) != 8 || operations.Ranked[0].Outlier {
		t.Errorf("%+v", operations)
	}
}

// The tools find what package made generates.
func TestTheMadeCluster(t *testing.T) {
	cs := connect(t, tools(filled(t, requests(t))))
	t.Run("summary", func(t *testing.T) {
		var got struct {
			Verdict string
			Seen    struct{ Clusters, Nodes, Ranks, Points int }
			Nodes   []struct {
				NodeID string `json:"node_id"`
				Health float64
				Wrong  []string
				LastS  float64 `json:"last_s"`
			}
			Next []next
		}
		call(t, cs, "fleet.cluster.summary", nil, &got)
		if got.Seen.Clusters != 1 || got.Seen.Nodes != 2 || got.Seen.Ranks != made.Ranks || got.Seen.Points < 20_000 ||
			len(got.Nodes) != 2 || got.Nodes[0].NodeID != made.NodeOf(made.Slow) ||
			got.Nodes[0].Health > 0.85 || got.Nodes[1].Health < 0.9 ||
			len(got.Nodes[0].Wrong) != 2 || len(got.Nodes[1].Wrong) != 0 || got.Nodes[0].LastS < 3 || got.Next[0].Tool != "fleet.cluster.find_stragglers" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("stragglers", func(t *testing.T) {
		var got stragglers
		call(t, cs, "fleet.cluster.find_stragglers", nil, &got)
		if len(got.Stragglers) != 1 || got.Seen.Ranks != 8 || got.Seen.Nodes != 2 || got.Seen.Collectives != made.Steps ||
			got.Seen.AgentEvents != 1 {
			t.Fatalf("%+v", got)
		}
		s := got.Stragglers[0]
		if s.NodeID != made.NodeOf(made.Slow) || s.Rank != made.Slow || s.Collectives.Every != made.Every ||
			s.Collectives.Late != made.Steps/made.Every || math.Abs(s.Collectives.LateMS-290) > 1 ||
			s.Collectives.Waiting != 7 ||
			math.Abs(s.Collectives.LostPct-17.5) > 0.2 || s.Agent.ExcessPct != 23 {
			t.Errorf("%+v %+v", s, s.Collectives)
		}
		if w := s.Why; w.Kind != "cpu_contention" || w.Culprit != "backup-agent" || w.ExplainedPct != 98.6 || w.NotKnown != "" || !strings.Contains(w.Finding, "backup-agent") {
			t.Errorf("%+v", w)
		}
		if n := got.Next[0]; n.Tool != "diagnose" || n.At != "node-h100:8080" || n.Arguments["since"] != got.Window {
			t.Errorf("%+v", n)
		}
	})
	t.Run("outliers", func(t *testing.T) {
		for name, c := range map[string]struct {
			args     map[string]any
			n, found int
			rank     int
		}{
			"two nodes are too few":           {nil, 2, 0, -1},
			"ranks by their score":            {map[string]any{"of": "rank"}, 8, 1, 5},
			"by the use of GPUs all are well": {map[string]any{"of": "rank", "metric": "hw.gpu.utilization"}, 8, 0, -1},
			"lower is better":                 {map[string]any{"of": "rank", "metric": "ingero.node.cpu_availability", "worse": "higher"}, 8, 0, -1},
			"lower is worse":                  {map[string]any{"of": "rank", "metric": "ingero.node.cpu_availability", "worse": "lower"}, 8, 1, 5},
			"a metric of 0":                   {map[string]any{"of": "rank", "metric": "ingero.node.straggler_event"}, 8, 1, 5},
		} {
			var got outliers
			call(t, cs, "fleet.cluster.find_outlier_nodes", c.args, &got)
			// Each node has another model of GPU.
			if len(got.Cohorts) != 2 || got.Cohorts[0].N != c.n/2 || got.Cohorts[1].N != c.n/2 || len(got.Ranked) != c.n ||
				got.Cohorts[0].Outliers+got.Cohorts[1].Outliers != c.found {
				t.Errorf("%s: %+v", name, got)
				continue
			}
			if c.rank >= 0 && (*got.Ranked[0].Rank != c.rank || !got.Ranked[0].Outlier) {
				t.Errorf("%s: %+v", name, got.Ranked[0])
			}
			for _, one := range got.Cohorts {
				if (c.n < 3) != (one.Why != "") {
					t.Errorf("%s: %q", name, one.Why)
				}
			}
		}
	})
	t.Run("history", func(t *testing.T) {
		var got struct {
			Note   string
			Events []struct {
				At, Kind, Name, Text string
				Rank                 *int
				Value                *float64
			}
		}
		call(t, cs, "fleet.cluster.event_history", map[string]any{"node_id": "node-h100", "limit": 100}, &got)
		if len(got.Events) != 7 || got.Events[0].Name != "ingero.finding" || got.Events[0].At < got.Events[1].At || !strings.Contains(got.Note, "hw.gpu.utilization") {
			t.Errorf("%+v", got)
		}
		call(t, cs, "fleet.cluster.event_history", map[string]any{"metric": "ingero.node.health_score", "rank": 5, "limit": 1000}, &got)
		if len(got.Events) != 62 || got.Events[0].Value == nil || *got.Events[0].Value > 0.85 || *got.Events[0].Rank != 5 || got.Events[0].Kind != "gauge" {
			t.Errorf("%d: %+v", len(got.Events), got.Events[0])
		}
	})
	t.Run("anomalies", func(t *testing.T) {
		var got struct {
			Counts    map[string]int
			Anomalies []struct {
				TS, First, Severity, Summary, Source string
				Times                                int
			}
		}
		call(t, cs, "fleet.cluster.anomaly_list", nil, &got)
		if len(got.Anomalies) != 2 || got.Anomalies[0].Times != 6 || got.Anomalies[0].Severity != "HIGH" || got.Anomalies[0].First != "2026-05-28T20:21:39.15Z" ||
			got.Anomalies[1].Source != "rank event" || got.Counts["HIGH"] != 1 || got.Counts["MEDIUM"] != 1 {
			t.Errorf("%+v", got)
		}
		call(t, cs, "fleet.cluster.anomaly_list", map[string]any{"severity_filter": "HIGH"}, &got)
		if len(got.Anomalies) != 1 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("cost", func(t *testing.T) {
		var got costs
		call(t, cs, "fleet.cluster.get_cost", nil, &got)
		// 185 times 290 ms, four A100 and three H100 waiting, at (4 x 2 + 3 x 3) / 7 USD per hour.
		hours := 185 * 0.29 * 7 / 3600
		if len(got.Waste) != 1 || math.Abs(got.GPUHours-hours) > 0.001 || math.Abs(got.Money-hours*17/7) > 0.002 ||
			got.Waste[0].GPUs != "3 H100, 4 A100" || got.Waste[0].By != "collectives" || math.Abs(got.Waste[0].LostS-185*0.29) > 0.3 {
			t.Errorf("%+v", got)
		}
		if got.Currency != "USD" || got.Rates.Date == "" || !strings.Contains(got.Rates.Source, "example") || !strings.Contains(got.Verdict, "example") ||
			!strings.Contains(got.Note, "not added") {
			t.Errorf("%+v", got)
		}
		call(t, cs, "fleet.cluster.get_cost", map[string]any{"per_gpu_hour": 10}, &got)
		if math.Abs(got.Money-hours*10) > 0.01 || !strings.Contains(got.Rates.Source, "argument") {
			t.Errorf("%+v", got)
		}
	})
}

func TestStragglers(t *testing.T) {
	all := func(lists ...[]demo.Request) (list []demo.Request) {
		for _, l := range lists {
			list = append(list, l...)
		}
		return list
	}
	one := func(r demo.Request) []demo.Request { return []demo.Request{r} }
	pid := func(pid int) map[string]any { return map[string]any{"process.pid": pid} }
	// What a tracer sends of the late rank: its process, what was found in it, and what it waited for.
	type classes = map[string]float64
	waits := func(int) classes {
		return classes{"runq": 79, "futex": 5, "sleep": 2, "fault": 1.5, "poll": 0.2}
	}
	tracedJob := func(before func(step int) classes, findings ...string) []demo.Request {
		late := slow(1, 2, 80*milli)
		return job{cluster: "east", ranks: 4, steps: 200, late: late, change: func(s ptrace.Span, rank, step int) {
			a := s.Attributes()
			a.PutInt("process.pid", int64(100+rank))
			if late(rank, step) == 0 {
				return
			}
			a.PutStr("ingero.collective.why", "late")
			a.PutDouble("ingero.collective.own_ms", 150)
			for class, ms := range before(step) {
				a.PutDouble("ingero.collective.before."+class+"_ms", ms)
			}
			ids := a.PutEmptySlice("ingero.chain_ids")
			for _, id := range findings {
				ids.AppendEmpty().SetStr(id)
			}
		}}.requests(t)
	}
	state := func(before float64, rank int, resolved bool, more map[string]any) entry {
		attrs := map[string]any{"event_id": "e" + string(rune('0'+rank)), "rank": rank, "excess": 0.25, "ranks": 4}
		maps.Copy(attrs, more)
		event := "straggler_state"
		if resolved {
			event = "straggler_resolved"
		}
		return entry{before: before, event: event, severity: 13, attributes: attrs}
	}
	for name, c := range map[string]struct {
		requests []demo.Request
		who      []string // node and cause
		verdict  string
		note     string
	}{
		"nothing":       {nil, nil, "no node reported collectives", "nothing was kept until now"},
		"all is well":   {job{cluster: "east", ranks: 4, steps: 200}.requests(t), nil, "in 200 collectives of 4 ranks none was late", ""},
		"few steps":     {job{cluster: "east", ranks: 4, steps: 12, late: slow(1, 1, 80*milli)}.requests(t), nil, "not known: fewer than 20 collectives can be compared; no agent", "nobody of east is blamed"},
		"two ranks":     {job{cluster: "east", ranks: 2, steps: 200, late: slow(1, 1, 80*milli)}.requests(t), nil, "not known: no collective was told of by 3 ranks", "by 3 ranks"},
		"without cause": {job{cluster: "east", ranks: 4, steps: 200, late: slow(1, 2, 80*milli)}.requests(t), []string{"n01 "}, "every 2nd of 200 collectives, and 3 ranks", ""},
		"its node's finding, of any rank": {all(job{cluster: "east", ranks: 4, steps: 200, late: slow(1, 2, 80*milli)}.requests(t),
			one(logs(t, "east", "n01", found(3, "block_io", "tar", nil)))), []string{"n01 block_io"}, "block_io by tar explains 95 %", ""},
		"another rank's finding": {all(job{cluster: "east", ranks: 4, steps: 200, late: slow(1, 2, 80*milli)}.requests(t),
			one(logs(t, "east", "n01", found(3, "block_io", "tar", map[string]any{"rank": 7})))), []string{"n01 "}, "why is not known", ""},
		"another node's finding": {all(job{cluster: "east", ranks: 4, steps: 200, late: slow(1, 2, 80*milli)}.requests(t),
			one(logs(t, "east", "n02", found(3, "block_io", "tar", nil)))), []string{"n01 "}, "why is not known", ""},
		"a finding too old": {all(job{cluster: "east", ranks: 4, steps: 200, late: slow(1, 2, 80*milli)}.requests(t),
			one(logs(t, "east", "n01", found(7200, "block_io", "tar", nil)))), []string{"n01 "}, "why is not known", ""},
		"a finding of its process": {
			all(tracedJob(waits), one(logs(t, "east", "n01", found(3, "block_io", "tar", pid(101)),
				found(3, "lock", "gc", map[string]any{"process.pid": 999, "ingero.finding.lost_pct": 60.0})))),
			[]string{"n01 block_io"},
			"block_io by tar explains 95 %", "",
		},
		"a finding that its collectives name": {
			all(tracedJob(waits, "lock-1"), one(logs(t, "east", "n01",
				found(3, "lock", "gc", nil), found(3, "block_io", "tar", map[string]any{"process.pid": 101, "ingero.finding.lost_pct": 60.0})))),
			[]string{"n01 lock"},
			"lock by gc explains 95 %", "",
		},
		"what it waited for before": {
			all(tracedJob(waits), one(logs(t, "east", "n01",
				found(3, "lock", "gc", map[string]any{"process.pid": 101, "ingero.finding.lost_pct": 4.0})))),
			[]string{"n01 cpu_contention"},
			"cpu_contention explains 99 %", "",
		},
		"what it waits for if all is well": {
			tracedJob(func(int) classes { return classes{"ioctl": 400, "poll": 60} }),
			[]string{"n01 "},
			"why is not known", "",
		},
		"two waits that are as long": {
			tracedJob(func(int) classes { return classes{"throttled": 90, "runq": 90} }),
			[]string{"n01 cpu_contention"},
			"cpu_contention explains 100 %", "",
		},
		"what it waited for once": {
			tracedJob(func(step int) classes {
				if step > 1 {
					return nil
				}
				return classes{"block_io": 400}
			}),
			[]string{"n01 "},
			"why is not known", "",
		},
		"what a rank that waited for it says in words": {
			all(tracedJob(func(int) classes { return nil }), one(logs(t, "east", "n01",
				found(3, "collective_straggler", "train", map[string]any{"process.pid": 100, "ingero.cause.pid": 101})))),
			[]string{"n01 "},
			"why is not known", "",
		},
		"a finding of a rank that waited for it": {
			all(tracedJob(waits), one(logs(t, "east", "n01",
				found(3, "block_io", "tar", pid(101)),
				found(3, "collective_straggler", "train", map[string]any{
					"process.pid": 100, "ingero.cause.pid": 101, "ingero.root.process": "backup", "ingero.root.pid": 7,
				})))),
			[]string{"n01 cpu_contention"},
			"cpu_contention by backup explains 95 %", "",
		},
		"an agent's word only": {
			one(logs(t, "east", "n03", state(60, 3, false, nil),
				state(50, 3, false, map[string]any{"cause.kind": "lock", "cause.culprit": "gc", "cause.explained": 0.9}))),
			[]string{"n03 lock"},
			"25 % slower than its peers", "",
		},
		"which has ended": {
			one(logs(t, "east", "n03", state(60, 3, false, map[string]any{"cause.kind": "lock"}), state(20, 3, true, nil))),
			[]string{"n03 lock"},
			"n03 was 25 % slower than its peers until ", "",
		},
		"one that goes on, before one that has ended": {
			one(logs(t, "east", "n03", state(60, 3, false, map[string]any{"lost_ms_per_step": 50.0, "step_ms": 100.0}), state(20, 3, true, nil),
				state(40, 4, false, map[string]any{"lost_ms_per_step": 5.0, "step_ms": 100.0}))),
			[]string{"n03 ", "n03 "},
			"rank 4 on n03 is 25 % slower", "",
		},
		"what cannot be judged": {
			job{cluster: "east", ranks: 4, steps: 200, late: slow(1, 4, 80*milli), change: func(s ptrace.Span, _, _ int) {
				s.Attributes().PutStr("ingero.collective.why", "sample")
			}}.requests(t),
			nil,
			"no agent reports a straggler; not judged: 50 late arrivals", "50 late arrivals in east not judged",
		},
		"late now and then": {
			job{cluster: "east", ranks: 4, steps: 200, late: slow(1, 100, 80*milli)}.requests(t), nil,
			"; late now and then: 1 rank, see not_blamed", "",
		},
		"two clusters": {all(job{cluster: "east", ranks: 4, steps: 200, late: slow(1, 2, 80*milli)}.requests(t),
			job{cluster: "west", ranks: 4, steps: 200}.requests(t)), []string{"n01 "}, "rank 1 on n01", ""},
		"the more costly first": {all(job{cluster: "east", ranks: 4, steps: 200, late: slow(1, 10, 80*milli)}.requests(t),
			job{cluster: "west", ranks: 4, steps: 200, late: slow(2, 2, 80*milli)}.requests(t)), []string{"n02 ", "n01 "}, "and 1 more", ""},
		"spans of which nothing is known": {job{cluster: "east", ranks: 4, steps: 100, change: func(s ptrace.Span, _, _ int) {
			s.Attributes().Remove("nccl.seq")
		}}.requests(t), nil, "nobody is blamed", ""},
		"between two ranks": {job{cluster: "east", ranks: 4, steps: 100, late: slow(1, 2, 80*milli), change: func(s ptrace.Span, rank, _ int) {
			s.Attributes().PutInt("nccl.peer_rank", int64(3-rank))
		}}.requests(t), nil, "nobody is blamed", ""},
		"some between two ranks": {job{cluster: "east", ranks: 4, steps: 100, late: slow(1, 2, 80*milli), change: func(s ptrace.Span, rank, step int) {
			if step%2 == 1 {
				s.Attributes().PutInt("nccl.peer_rank", int64(3-rank))
			}
		}}.requests(t), nil, "in 50 collectives of 4 ranks none was late", ""},
		"one from before the window, whose node goes on": {
			all(one(logs(t, "east", "n03", state(7000, 3, false, nil), state(6000, 3, false, map[string]any{"cause.kind": "lock"}))),
				one(metrics(t, "east", "n03", series{"m", []float64{1}, nil, ""}))),
			[]string{"n03 lock"},
			"25 % slower", "",
		},
		"whose node is silent": {
			all(one(logs(t, "east", "n03", state(7000, 3, false, nil))), one(metrics(t, "east", "n02", series{"m", []float64{1}, nil, ""}))),
			nil, "nobody is blamed", "",
		},
		"which ended before the window": {
			all(one(logs(t, "east", "n03", state(7000, 3, false, nil), state(6000, 3, true, nil))), one(metrics(t, "east", "n03", series{"m", []float64{1}, nil, ""}))),
			nil, "nobody is blamed", "",
		},
		"a hang": {
			one(logs(t, "east", "n03", entry{before: 9, event: "hang", severity: 17, attributes: map[string]any{"rank": 3, "event_id": "h"}})),
			nil, "no agent reports a straggler", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got stragglers
			call(t, connect(t, tools(filled(t, c.requests))), "fleet.cluster.find_stragglers", nil, &got)
			var who []string
			for _, s := range got.Stragglers {
				who = append(who, s.NodeID+" "+s.Why.Kind)
				if (s.Why.Kind == "" || s.Why.ExplainedPct < 80) != (s.Why.NotKnown != "") {
					t.Errorf("%+v", s.Why)
				}
				if s.Since > s.Last {
					t.Errorf("since %s until %s", s.Since, s.Last)
				}
			}
			if strings.Join(who, ",") != strings.Join(c.who, ",") || !strings.Contains(got.Verdict, c.verdict) || !strings.Contains(got.Note, c.note) {
				t.Errorf("%v; want %v: %s; note: %s", who, c.who, got.Verdict, got.Note)
			}
			if name == "what it waited for before" &&
				!maps.Equal(got.Stragglers[0].Collectives.Before, map[string]float64{"runq": 79, "futex": 5, "sleep": 2}) {
				t.Errorf("%v", got.Stragglers[0].Collectives.Before)
			}
			if name == "what a rank that waited for it says in words" && got.Stragglers[0].Why.Finding != "train waits for train" {
				t.Errorf("%+v", got.Stragglers[0].Why)
			}
			if name == "a hang" && (len(got.Others) != 1 || !strings.Contains(got.Others[0], "hang of rank 3")) {
				t.Errorf("%v", got.Others)
			}
			if name == "which has ended" && !got.Stragglers[0].Resolved {
				t.Errorf("%+v", got.Stragglers[0])
			}
			if name == "spans of which nothing is known" && got.Seen.Unknown != 400 {
				t.Errorf("%+v", got.Seen)
			}
		})
	}
}

// Nodes whose clocks are off are named, and not taken for silent ones.
func TestClocksThatAreOff(t *testing.T) {
	at := func(node string, before float64) demo.Request {
		return logs(t, "east", node, entry{before: before, text: "here"})
	}
	var got struct {
		Note  string
		Nodes []struct {
			NodeID string  `json:"node_id"`
			LastS  float64 `json:"last_s"`
		}
	}
	all := []demo.Request{at("n01", 1), at("n02", 2), at("n03", 600), at("n04", -3600)}
	call(t, connect(t, tools(filled(t, all))), "fleet.cluster.summary", nil, &got)
	for _, want := range []string{
		"rows of n03 came 603 s and more after their own time", "rows of n04 are of times up to 3597 s ahead",
	} {
		if !strings.Contains(got.Note, want) {
			t.Errorf("%q does not say %q", got.Note, want)
		}
	}
	if len(got.Nodes) != 3 {
		t.Errorf("%+v", got.Nodes)
	}
	for _, n := range got.Nodes {
		if n.LastS > 60 {
			t.Errorf("%s sent nothing for %v s", n.NodeID, n.LastS)
		}
	}
	got.Note = ""
	call(t, connect(t, tools(filled(t, all[:2]))), "fleet.cluster.summary", nil, &got)
	if got.Note != "" {
		t.Errorf("clocks that are right: %s", got.Note)
	}
}

// Of many collectives a part is read. It gives the same result, also for periodic lateness.
func TestManyCollectives(t *testing.T) {
	var got stragglers
	call(t, connect(t, tools(filled(t, job{cluster: "east", ranks: 8, steps: 14_000, late: slow(5, 14, 290*milli)}.requests(t)))),
		"fleet.cluster.find_stragglers", nil, &got)
	if len(got.Stragglers) != 1 || got.Seen.SharePct == 0 || got.Seen.SharePct > 46 || got.Seen.Collectives > 6400 ||
		got.Seen.Collectives < 5000 {
		t.Fatalf("%+v", got)
	}
	c := got.Stragglers[0].Collectives
	want := 100 * 0.29 / (14*0.1 + 0.29)
	if math.Abs(c.LostPct-want) > 1 || math.Abs(float64(c.Of)/float64(c.Late)-14) > 1 {
		t.Errorf("%+v; want %v %%", c, want)
	}
}

// A number that a sender made up fails nothing.
func TestAnAbsurdTime(t *testing.T) {
	for _, own := range []any{1e300, -1e300, "Infinity", "NaN"} {
		requests := job{cluster: "east", ranks: 4, steps: 50, late: slow(1, 2, 80*milli), change: func(s ptrace.Span, rank, step int) {
			if rank == 2 && step == 7 {
				if err := s.Attributes().PutEmpty("ingero.collective.own_ms").FromRaw(own); err != nil {
					t.Fatal(err)
				}
			}
		}}.requests(t)
		var got stragglers
		call(t, connect(t, tools(filled(t, requests))), "fleet.cluster.find_stragglers", nil, &got)
		if len(got.Stragglers) != 1 || got.Stragglers[0].NodeID != "n01" {
			t.Errorf("%v: %+v", own, got)
		}
	}
}

// What a tracer sends of an error of a GPU is wrong in the summary's and the anomalies' eyes.
func TestErrorsOfGPUs(t *testing.T) {
	cs := connect(t, tools(filled(t, []demo.Request{logs(t, "east", "n01", entry{
		before: 60, event: "ingero.gpu.xid", severity: 17, text: "GPU 1 reported Xid 79 (GPU has fallen off the bus)",
		attributes: map[string]any{"ingero.gpu.xid": 79, "hw.id": "1"},
	})})))
	var got json.RawMessage
	call(t, cs, "fleet.cluster.anomaly_list", nil, &got)
	if !strings.Contains(string(got), "ingero.gpu.xid") || !strings.Contains(string(got), "fallen off the bus") {
		t.Errorf("%s", got)
	}
	var summary struct {
		Verdict string
		Nodes   []struct{ Wrong []string }
	}
	call(t, cs, "fleet.cluster.summary", nil, &summary)
	if summary.Verdict != "no node's agent says that anything is wrong; logs have 1 error" || len(summary.Nodes) != 1 ||
		len(summary.Nodes[0].Wrong) != 1 || !strings.Contains(summary.Nodes[0].Wrong[0], "Xid 79") {
		t.Errorf("%+v", summary)
	}
}

// A score that is not a number is none.
func TestScoresThatAreNoNumbers(t *testing.T) {
	for _, score := range []float64{math.NaN(), math.Inf(1)} {
		var got struct {
			Nodes []struct{ Health *float64 }
		}
		one := series{"ingero.node.health_score", []float64{0.9, score}, map[string]any{"rank": 1}, ""}
		other := series{"ingero.node.health_score", []float64{0.9, 0.4}, map[string]any{"rank": 2}, ""}
		cs := connect(t, tools(filled(t, []demo.Request{metrics(t, "east", "n00", one, other)})))
		call(t, cs, "fleet.cluster.summary", nil, &got)
		if len(got.Nodes) != 1 || got.Nodes[0].Health == nil || *got.Nodes[0].Health != 0.4 {
			t.Errorf("%v: %+v", score, got)
		}
	}
}

// Two jobs of a cluster, of other GPUs: each is compared for itself, and its GPUs have a price of their own.
func TestTwoJobsOfACluster(t *testing.T) {
	short := job{cluster: "east", ranks: 4, steps: 60, late: slow(1, 2, 80*milli)}
	long := job{cluster: "east", comm: "cc", first: 20, ranks: 24, steps: 600}
	list := append(short.requests(t), long.requests(t)...)
	for i := range 4 {
		list = append(list, metrics(t, "east", node(i), series{"ingero.node.info", []float64{1}, map[string]any{"ingero.gpu_model": "A100"}, ""}))
	}
	for i := range 24 {
		list = append(list, metrics(t, "east", node(20+i), series{"ingero.node.info", []float64{1}, map[string]any{"ingero.gpu_model": "H100"}, ""}))
	}
	cs := connect(t, tools(filled(t, list)))
	var got stragglers
	call(t, cs, "fleet.cluster.find_stragglers", map[string]any{"cluster_id": "east"}, &got)
	if len(got.Stragglers) != 1 || got.Stragglers[0].NodeID != "n01" || math.Abs(got.Stragglers[0].Collectives.LostPct-100*40./140) > 2 ||
		got.Seen.Ranks != 28 || got.Next[len(got.Next)-1].Arguments["cluster_id"] != "east" {
		t.Errorf("%+v", got)
	}
	var spent costs
	call(t, cs, "fleet.cluster.get_cost", nil, &spent)
	if len(spent.Waste) != 1 || spent.Waste[0].GPUs != "3 A100" || spent.Waste[0].PerHour != 2 || math.Abs(spent.GPUHours-3*30*0.08/3600) > 1e-4 {
		t.Errorf("%+v", spent)
	}
}

// What agents report of ranks ends: when the process is gone, when the tracer that was started again reports the rank
// anew, and when it sends that the rank is no straggler.
func TestWhatEndsWithoutAnEvent(t *testing.T) {
	state := func(before float64, id string) entry {
		return entry{before: before, event: "straggler_state", severity: 13, attributes: map[string]any{
			"event_id": id, "rank": 3, "ranks": 8, "lost_ms_per_step": 20.0, "step_ms": 100.0,
		}}
	}
	with := func(e entry, key string, value any) entry { e.attributes[key] = value; return e }
	of := func(e entry, cohort string) entry { return with(e, "cohort", cohort) }
	by := func(e entry, pid int) entry { return with(e, "pid", pid) }
	here := entry{before: 0, event: "other"}
	// ran is what a tracer sends of the rank's process: a collective every ten seconds.
	ran := func(pid int, from, to float64) demo.Request {
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		place(rs.Resource().Attributes(), "east", "n03")
		spans := rs.ScopeSpans().AppendEmpty().Spans()
		for before := from; before >= to; before -= 10 {
			at := end - int64(before*second)
			s := spans.AppendEmpty()
			job{ranks: 8}.span(s, 3, int(before), at-90*milli, at+milli)
			s.Attributes().PutInt("process.pid", int64(pid))
		}
		b, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
		return request(t, "/v1/traces", b, err)
	}
	for name, c := range map[string]struct {
		entries []entry
		alarm   []float64 // a second apart, the last at the end
		ongoing int       // in the last quarter of an hour
		hours   float64   // of cost, in the last hour
		ran     []demo.Request
	}{
		"gone, days ago": {[]entry{{before: 200_000, event: "gone", severity: 17, attributes: map[string]any{"rank": 3}}, here}, nil, 0, 0, nil},
		"gone just now":  {[]entry{{before: 200, event: "gone", severity: 17, attributes: map[string]any{"rank": 3}}, here}, nil, 1, 0, nil},
		"anew":           {[]entry{state(3000, "a"), state(1000, "b"), here}, nil, 1, 0.2 * 7 * 3000 / 3600, nil},
		"no longer":      {[]entry{state(3000, "a"), state(2800, "a"), here}, []float64{0, 0}, 0, 0.2 * 7 * 200 / 3600, nil},
		"of another job": {[]entry{of(state(3000, "a"), "1"), of(state(1000, "b"), "2"), here}, nil, 2, 0.2 * 7 * 4000 / 3600, nil},
		"still":          {[]entry{state(3000, "a"), here}, []float64{0, 1}, 1, 0.2 * 7 * 3000 / 3600, nil},
		"ended, by type": {[]entry{
			{before: 9000, event: "straggler_state", severity: 13, attributes: map[string]any{"rank": 3}},
			{before: 8000, event: "straggler_resolved", severity: 9, attributes: map[string]any{"rank": 3}},
			here,
		}, nil, 0, 0, nil},
		"another process has its rank": {
			[]entry{by(state(3000, "a"), 7), here},
			nil, 0, 0.2 * 7 * 1000 / 3600,
			[]demo.Request{ran(7, 3500, 2000), ran(8, 100, 0)},
		},
		"its tracer, started again, no longer knows its rank": {
			[]entry{by(state(3000, "a"), 7), here},
			nil, 0, 0.2 * 7 * 1000 / 3600,
			[]demo.Request{ran(7, 3500, 2000), metrics(t, "east", "n03", series{"m", []float64{1}, nil, ""})},
		},
		"it runs on": {
			[]entry{by(state(3000, "a"), 7), here}, nil, 1, 0.2 * 7 * 3000 / 3600, []demo.Request{ran(7, 3500, 0)},
		},
		"the job is started again": {
			[]entry{of(by(state(3000, "a"), 7), "1"), of(by(state(1000, "b"), 8), "2"), here},
			nil, 1, 0.2 * 7 * 2000 / 3600,
			[]demo.Request{ran(7, 3500, 2000), ran(8, 1900, 0)},
		},
		"anew, and once more": {
			[]entry{of(state(3000, "a"), "1"), of(state(2000, "b"), "2"), of(state(1000, "c"), "1"), here},
			nil, 2, 0.2 * 7 * (2000 + 2000 + 1000) / 3600, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			list := append([]demo.Request{logs(t, "east", "n03", c.entries...)}, c.ran...)
			if c.alarm != nil {
				list = append(list, metrics(t, "east", "n03", series{"ingero.node.straggler_event", c.alarm, map[string]any{"rank": 3}, ""}))
			}
			cs := connect(t, tools(filled(t, list)))
			var got struct {
				Verdict string
				Nodes   []struct{ Wrong []string }
			}
			call(t, cs, "fleet.cluster.summary", map[string]any{"window": "15m"}, &got)
			if len(got.Nodes) != 1 || len(got.Nodes[0].Wrong) != c.ongoing {
				t.Errorf("%+v; want %d", got, c.ongoing)
			}
			var spent costs
			call(t, cs, "fleet.cluster.get_cost", map[string]any{"window": "1h"}, &spent)
			if math.Abs(spent.GPUHours-c.hours) > 0.002 {
				t.Errorf("%+v; want %v hours", spent, c.hours)
			}
		})
	}
}

// A rank that was slow, was well, and is slow again, is so since it is slow again.
func TestSlowAgain(t *testing.T) {
	says := func(before float64, id, event string) entry {
		return entry{before: before, event: event, severity: 13, attributes: map[string]any{"event_id": id, "rank": 3, "excess": 0.25}}
	}
	var got stragglers
	call(t, connect(t, tools(filled(t, []demo.Request{logs(t, "east", "n03", says(3000, "a", "straggler_state"),
		says(2900, "a", "straggler_resolved"), says(50, "b", "straggler_state"), entry{before: 0, event: "other"})}))),
		"fleet.cluster.find_stragglers", map[string]any{"window": "1h"}, &got)
	if len(got.Stragglers) != 1 || got.Stragglers[0].Resolved {
		t.Fatalf("%+v", got)
	}
	since, err := time.Parse(time.RFC3339, got.Stragglers[0].Since)
	if before := time.Unix(0, end).Sub(since); err != nil || before.Round(time.Minute) != time.Minute {
		t.Errorf("since %s, %v: %v before the end", got.Stragglers[0].Since, err, before)
	}
}

// One note names what is unknown about many clusters.
func TestWhatCannotBeToldOfManyClusters(t *testing.T) {
	var list []demo.Request
	for i := range 40 {
		list = append(list, job{cluster: fmt.Sprintf("cluster-%02d", i), ranks: 2, steps: 30}.requests(t)...)
	}
	var got stragglers
	call(t, connect(t, tools(filled(t, list))), "fleet.cluster.find_stragglers", nil, &got)
	const want = "by their collectives nobody of cluster-00, cluster-01, cluster-02 and 37 more is blamed: no collective was told of"
	if !strings.Contains(got.Note, want) || len(got.Note) > 300 || !strings.HasPrefix(got.Verdict, "not known: ") {
		t.Errorf("%s; %s", got.Verdict, got.Note)
	}
}

// Processes of a node with the same rank are listed separately, and an agent's event belongs to its process.
func TestProcessesOfANodeWithTheSameRank(t *testing.T) {
	var list []demo.Request
	for group := range 3 {
		late := slow(1, 2, 80*milli)
		if group == 0 {
			late = nil
		}
		list = append(list, job{
			cluster: "east", comm: fmt.Sprintf("0%d", group), ranks: 4, steps: 200, late: late,
			change: func(s ptrace.Span, rank, _ int) {
				s.Attributes().PutInt("process.pid", int64(100*(group+1)+rank))
				s.SetSpanID(pcommon.SpanID{byte(rank), byte(group), s.SpanID()[1], s.SpanID()[2], 2})
			},
		}.requests(t)...)
	}
	list = append(list, logs(t, "east", "n01", entry{before: 5, event: "straggler_state", severity: 13, attributes: map[string]any{
		"event_id": "a", "rank": 1, "pid": 301, "excess": 0.25, "cause.kind": "lock",
	}}))
	var got stragglers
	call(t, connect(t, tools(filled(t, list))), "fleet.cluster.find_stragglers", nil, &got)
	if len(got.Stragglers) != 2 || got.Seen.Ranks != 12 {
		t.Fatalf("%+v", got)
	}
	for i, want := range []struct {
		pid  int64
		kind string
	}{{201, ""}, {301, "lock"}} {
		s := got.Stragglers[i]
		if s.PID != want.pid || s.Why.Kind != want.kind || s.Collectives == nil || s.Collectives.Of != 200 || s.Rank != 1 {
			t.Errorf("%+v; want %+v", s, want)
		}
	}
}

// Numbers of the window, of what is sent since a start.
func TestOutliersOfWhatIsSentSinceAStart(t *testing.T) {
	var list []demo.Request
	for i := range 5 {
		took, rare, errors := make([]float64, 1200), make([]float64, 1200), make([]float64, 300)
		for k := range took {
			took[k], rare[k] = 5, math.NaN()
			if i == 1 && k < 600 || i == 2 && k >= 600 {
				took[k] = 15
			}
		}
		if rare[1000] = 5; i == 2 {
			rare[1000] = 15
		}
		how := "histogram"
		if i == 3 {
			how = "anew"
		}
		for k := range errors { // rank 3's begins anew after 200 points
			errors[k] = 1e6 + 10*float64(k)
			if i == 3 && k > 200 {
				errors[k] = 10 * float64(k-200)
			}
		}
		list = append(list, metrics(t, "east", node(i), series{"took", took, map[string]any{"rank": i}, how},
			series{"rare", rare, map[string]any{"rank": i}, "histogram"},
			series{"errors", errors, map[string]any{"rank": i}, "cumulative"}, series{"errors", errors, nil, "cumulative"}))
	}
	cs := connect(t, tools(filled(t, list)))
	var got outliers
	call(t, cs, "fleet.cluster.find_outlier_nodes", map[string]any{"metric": "took", "window": "5m"}, &got)
	if got.Measure != "mean of what came in the window" || got.Cohorts[0].Median != 5 || got.Cohorts[0].Outliers != 1 ||
		got.Ranked[0].NodeID != "n02" || got.Ranked[0].Value != 15 {
		t.Errorf("a histogram: %+v", got)
	}
	call(t, cs, "fleet.cluster.find_outlier_nodes", map[string]any{"metric": "rare", "window": "5m"}, &got)
	if len(got.Ranked) != 5 || got.Cohorts[0].Median != 5 || got.Ranked[0].NodeID != "n02" || got.Ranked[0].Value != 15 {
		t.Errorf("a histogram that was empty before: %+v", got)
	}
	call(t, cs, "fleet.cluster.find_outlier_nodes", map[string]any{"metric": "errors", "window": "10m", "of": "rank"}, &got)
	if len(got.Ranked) != 5 || got.Cohorts[0].Median != 10 || got.Cohorts[0].Outliers != 0 || got.Ranked[4].Rank == nil {
		t.Errorf("a sum that begins anew: %+v", got)
	}
}

func TestOutliers(t *testing.T) {
	var list []demo.Request
	for i := range 6 {
		rising, delta, health := make([]float64, 61), make([]float64, 60), make([]float64, 60)
		for k := range rising {
			rising[k] = float64(k * 1000)
			if i == 2 {
				rising[k] /= 2
			}
		}
		for k := range delta {
			delta[k], health[k] = 10, 0.95
			if i == 3 {
				delta[k] = 30
			}
			if i == 4 && k%10 == 0 {
				health[k] = 0.25
			}
		}
		list = append(list, metrics(t, "east", node(i),
			series{"launches", rising, map[string]any{"cgroup": "a"}, "cumulative"}, series{"launches", rising, map[string]any{"cgroup": "b"}, "cumulative"},
			series{"errors", delta, nil, "delta"}, series{"memory", []float64{9, 1, float64(5 + i), 7, 3}, nil, "in use"},
			series{"ingero.health.score", health, map[string]any{"rank": i}, ""}))
	}
	list = append(list, metrics(t, "west", "w0", series{"launches", []float64{0, 5}, nil, "cumulative"}))
	list = append(list, metrics(t, "east", "delta", series{"launches", []float64{7, 7, 7}, nil, "delta"})) // not compared
	cs := connect(t, tools(filled(t, list)))
	var got outliers
	call(t, cs, "fleet.cluster.find_outlier_nodes", map[string]any{"metric": "launches", "worse": "lower", "window": "10m"}, &got)
	if len(got.Cohorts) != 2 || got.Cohorts[0].Median != 2000 || got.Cohorts[0].Outliers != 1 || got.Cohorts[1].Why == "" || !got.Ranked[0].Outlier ||
		got.Ranked[0].NodeID != "n02" || got.Ranked[0].Value != 1000 || got.Measure != "growth a second" {
		t.Errorf("a sum that goes on: %+v", got)
	}
	call(t, cs, "fleet.cluster.find_outlier_nodes", map[string]any{"metric": "errors", "window": "10m"}, &got)
	if got.Ranked[0].NodeID != "n03" || !got.Ranked[0].Outlier || got.Ranked[0].Value != 30 || got.Cohorts[0].Median != 10 {
		t.Errorf("a sum of differences: %+v", got)
	}
	call(t, cs, "fleet.cluster.find_outlier_nodes", map[string]any{"metric": "errors", "threshold": 20, "window": "10m"}, &got)
	if got.Ranked[0].Beyond != 0 || !strings.Contains(got.Note, "threshold is not used") {
		t.Errorf("a sum, by a threshold: %+v", got)
	}
	call(t, cs, "fleet.cluster.find_outlier_nodes", map[string]any{"metric": "memory", "window": "10m"}, &got)
	if got.Measure != "median of points" || got.Cohorts[0].Median != 7 {
		t.Errorf("a sum that falls, too: %+v", got)
	}
	// As published: points below 0.4. The node's median does not show them.
	call(t, cs, "fleet.cluster.find_outlier_nodes", map[string]any{"metric": "ingero.health.score", "threshold": 0.4, "window": "20:00-20:30"}, &got)
	if len(got.Ranked) != 6 || got.Ranked[0].NodeID != "n04" || got.Ranked[0].Beyond != 6 || got.Ranked[1].Beyond != 0 || got.Worse != "lower" {
		t.Errorf("by a threshold: %+v", got)
	}
	call(t, cs, "fleet.cluster.find_outlier_nodes", map[string]any{"metric": "nothing"}, &got)
	if len(got.Ranked) != 0 || !strings.Contains(got.Verdict, "nobody sent nothing") || !strings.Contains(got.Note, "launches") {
		t.Errorf("a metric that there is none of: %+v", got)
	}
}

// GPUs of one model are compared with each other, as another model's usual power differs.
func TestOutliersByGPU(t *testing.T) {
	var list []demo.Request
	for i, watts := range []float64{300, 302, 299, 301, 600, 604, 598, 400, 350} {
		model := "A100"
		if i >= 4 {
			model = "H100"
		}
		all, has := []series{{"watts", []float64{watts, watts}, nil, ""}}, map[string]any{"ingero.gpu_model": model}
		switch i {
		case 3: // what it has it said before the window
			list = append(list, logs(t, "east", node(i), entry{before: 7200, event: "other", attributes: has}))
		case 8: // it does not say what it has
		default:
			all = append(all, series{"ingero.node.info", []float64{1}, has, ""})
		}
		list = append(list, metrics(t, "east", node(i), all...))
	}
	cs := connect(t, tools(filled(t, list)))
	var got outliers
	call(t, cs, "fleet.cluster.find_outlier_nodes", map[string]any{"metric": "watts"}, &got)
	if len(got.Cohorts) != 3 || got.Cohorts[0].GPU != "A100" || got.Cohorts[0].N != 4 || got.Cohorts[0].Outliers != 0 ||
		got.Cohorts[1].GPU != "H100" ||
		got.Cohorts[1].Outliers != 1 || got.Cohorts[2].GPU != "not known" || got.Cohorts[2].Why == "" ||
		got.Ranked[0].NodeID != "n07" || got.Ranked[0].GPU != "H100" || !got.Ranked[0].Outlier || got.Ranked[1].Outlier ||
		got.Verdict != "1 of 8 nodes: 3.5 sigmas or more from the median of those with the same GPU, and worse; "+
			"1 more not compared: fewer than 3 are alike" {
		t.Errorf("by GPU: %+v", got)
	}
	var whole outliers
	call(t, cs, "fleet.cluster.find_outlier_nodes", map[string]any{"metric": "watts", "cohort": "cluster"}, &whole)
	if len(whole.Cohorts) != 1 || whole.Cohorts[0].N != 9 || whole.Cohorts[0].GPU != "" || whole.Cohorts[0].Outliers != 0 ||
		!strings.Contains(whole.Verdict, "median of the cluster") {
		t.Errorf("all of the cluster: %+v", whole)
	}
}

// Without collectives, the cost comes from the agent's events.
func TestCostByAgents(t *testing.T) {
	state := entry{before: 1800, event: "straggler_state", severity: 13, attributes: map[string]any{
		"event_id": "e", "rank": 3, "ranks": 8, "lost_ms_per_step": 20.0, "step_ms": 100.0,
	}}
	earlier := state
	earlier.before = 7200
	vague := entry{before: 900, event: "straggler_state", severity: 13, attributes: map[string]any{"event_id": "f", "rank": 4, "excess": 0.2}}
	ended := entry{before: 900, event: "straggler_resolved", severity: 9, attributes: map[string]any{"event_id": "e", "rank": 3}}
	var got costs
	rates := cost.Rates{Source: "our contract", Date: "2026-01-31", Currency: "EUR", Default: 5}
	for name, c := range map[string]struct {
		entries []entry
		hours   float64
		note    string
	}{
		"which goes on":  {[]entry{state, {before: 0, event: "other"}}, 0.2 * 7 * 1800 / 3600, ""},
		"since long":     {[]entry{earlier, {before: 0, event: "other"}}, 0.2 * 7 * 3597 / 3600, ""},
		"until silence":  {[]entry{state, {before: 1200, event: "other"}}, 0.2 * 7 * 600 / 3600, ""},
		"which ended":    {[]entry{state, ended}, 0.2 * 7 * 900 / 3600, ""},
		"which is vague": {[]entry{vague}, 0, "how long a step takes"},
	} {
		s := mcptool.New(mcptool.Options{Version: "test", Store: filled(t, []demo.Request{logs(t, "east", "n03", c.entries...)}), Rates: rates, Limits: limits(), Now: now})
		call(t, connect(t, s), "fleet.cluster.get_cost", nil, &got)
		if math.Abs(got.GPUHours-c.hours) > 0.001 || math.Abs(got.Money-5*c.hours) > 0.005 || got.Currency != "EUR" || got.Rates.Source != "our contract" || !strings.Contains(got.Note, c.note) {
			t.Errorf("%s: %+v; want %v hours", name, got, c.hours)
		}
	}
	// Collectives of which nobody is blamed do not say that nobody waited; and a node's ranks are slow together.
	well := job{cluster: "east", ranks: 4, steps: 200}.requests(t)
	var node []entry
	for rank := range 8 {
		one := state
		one.attributes = maps.Clone(state.attributes)
		one.attributes["event_id"], one.attributes["rank"], one.attributes["ranks"] = fmt.Sprint("e", rank), rank, 64-rank
		one.attributes["cohort"] = "c"
		node = append(node, one)
	}
	node = append(node, entry{before: 0, event: "other"})
	call(t, connect(t, tools(filled(t, append(well, logs(t, "east", "n03", node...))))), "fleet.cluster.get_cost", nil, &got)
	if hours := 0.2 * 56 * 1800 / 3600; math.Abs(got.GPUHours-hours) > 0.001 || len(got.Waste) != 1 ||
		!strings.Contains(got.Note, "7 events of agents not added: another rank was slower at the time") {
		t.Errorf("%+v; want %v hours", got, hours)
	}
	call(t, connect(t, tools(filled(t, nil))), "fleet.cluster.get_cost", nil, &got)
	if got.Money != 0 || !strings.Contains(got.Verdict, "not known") {
		t.Errorf("of nothing: %+v", got)
	}
}

// The questions of the published proof, through the tool.
func TestPublishedQuestions(t *testing.T) {
	var list []demo.Request
	for rank := range 8 {
		health := make([]float64, 250)
		for i := range health {
			if n := rank/2*250 + i; n%100 == 0 && n > 0 {
				health[i] = 0.25
			} else {
				health[i] = 0.9 + float64(i)/10_000
			}
		}
		var all []series
		for i, h := range health { // each point has its own attributes
			attrs := map[string]any{"rank": rank, "seq": rank/2*250 + i}
			if n := rank/2*250 + i; n%25 == 0 {
				attrs["causal_chain_id"] = "chain-" + []string{"a", "h"}[rank%2] + string(rune('A'+n/25))
			}
			all = append(all, series{"ingero.health.score", []float64{h}, attrs, ""})
		}
		list = append(list, metrics(t, "demo-cluster", []string{"node-a100", "node-h100"}[rank%2], all...))
	}
	cs := connect(t, tools(filled(t, list)))
	for sql, want := range map[string]string{
		"SELECT cluster_id, node_id, COUNT(*) AS events\nFROM events\nGROUP BY cluster_id, node_id\nORDER BY node_id;":                                                        `[["demo-cluster","node-a100",1000],["demo-cluster","node-h100",1000]]`,
		"SELECT COUNT(DISTINCT json_extract_string(attrs_json, '$.causal_chain_id')) AS chains\nFROM events\nWHERE attrs_json LIKE '%causal_chain_id%';":                      `[[80]]`,
		"SELECT node_id, COUNT(*) AS straggler_events\nFROM events\nWHERE value_double < 0.40\nGROUP BY node_id;":                                                             `[["node-a100",9],["node-h100",9]]`,
		"SELECT node_id,\n       quantile_cont(value_double, 0.5)  AS median_health,\n       quantile_cont(value_double, 0.95) AS p95_health\nFROM events\nGROUP BY node_id;": `[["node-a100",0.9123`,
	} {
		var got struct{ Rows [][]any }
		call(t, cs, "fleet.cluster.run_analysis", map[string]any{"sql": sql}, &got)
		if len(got.Rows) == 2 && got.Rows[0][0] == "node-h100" { // the published question has no order
			got.Rows[0], got.Rows[1] = got.Rows[1], got.Rows[0]
		}
		b, err := json.Marshal(got.Rows)
		if err != nil || !strings.HasPrefix(string(b), want) {
			t.Errorf("%s: %s, %v; want %s", sql, b, err, want)
		}
	}
}
