package wire_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

func event(t testing.TB, e wire.Event) []byte {
	t.Helper()
	b, err := wire.AppendEvent(nil, &e)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// verdicts returns events of all kinds, and one that ended.
func verdicts() []wire.Event {
	about := wire.About{
		Node: "gpu-node-0017", Cluster: "research-east-1", ID: "8c9d0c2e-3f1b-4a43-9d13-1f4a7c0f2b11", WorldSize: 512,
		PID: 4711,
	}
	v := health.Verdict{
		Cohort: 0xabc, Rank: 137, At: sent, Since: sent - 6*time.Second, Mode: health.ModeFleet,
		Excess: 0.25, Own: 0.25, Peer: 0.2, Sigma: 0.015625, G: 18.5, H: 18.5, N: 64, Measured: health.MeasuredDevice,
	}
	cause := &wire.Cause{
		Kind: "runqueue", Culprit: "backup <3>", MS: 45.5, Explained: 0.9375, Second: "disk", Evidence: []string{"r1/17", "r1/18"},
	}
	out := []wire.Event{wire.NewEvent(v, about, cause)}
	v.Resolved, v.Excess, v.Own = true, 0, 0.2
	out = append(out, wire.NewEvent(v, about, nil))
	v.Kind, v.Resolved, v.Mode = health.KindSlowVsSelf, false, health.ModeLocalCached
	v.Excess, v.Own, v.Measured = 0.5, 0.3, health.MeasuredHost
	out = append(out, wire.NewEvent(v, about, nil))
	for _, k := range []health.Kind{health.KindGone, health.KindMissing, health.KindHang} {
		w := health.Verdict{Kind: k, Cohort: 0xabc, Rank: 137, At: sent, Since: sent - time.Second, N: 63}
		w.Mode, w.Folded, w.Resolved = health.ModeFleet, k == health.KindMissing, k == health.KindHang
		out = append(out, wire.NewEvent(w, about, nil))
	}
	about.Node = ""
	for _, k := range []health.Kind{health.KindCohortSlow, health.KindCohortDegraded} {
		w := health.Verdict{Kind: k, Cohort: 0xabc, Rank: health.NoRank, At: sent, N: 64, Excess: 0.125}
		w.Mode = health.ModeFleet
		out = append(out, wire.NewEvent(w, about, nil))
	}
	return out
}

func TestEventsComeBack(t *testing.T) {
	var lines []byte
	for _, e := range verdicts() {
		line := event(t, e)
		got, err := wire.ParseEvent(line)
		if d := cmp.Diff(e, got); err != nil || d != "" {
			t.Error(err, d)
		}
		if bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' {
			t.Errorf("not a line: %q", line)
		}
		lines = append(lines, line...)
	}
	golden(t, "events.jsonl", lines)
}

// TestPublishedFields checks for the fields that readers of published events need.
func TestPublishedFields(t *testing.T) {
	for i, want := range []string{
		"type node_id cluster_id score threshold detection_mode dominant_signal timestamp event_id rank world_size",
		"type node_id cluster_id timestamp event_id rank world_size",
	} {
		var got map[string]any
		if err := json.Unmarshal(event(t, verdicts()[i]), &got); err != nil {
			t.Fatal(err)
		}
		for name := range strings.FieldsSeq(want) {
			if got[name] == nil || got[name] == "" {
				t.Errorf("event %d has no %s: %v", i, name, got)
			}
		}
	}
}

func TestEventsOfEarlierAgents(t *testing.T) {
	e, err := wire.ParseEvent([]byte(`{"type":"straggler_state","node_id":"n","cluster_id":"c","score":0.5,"threshold":0.88,` +
		`"detection_mode":"fleet","dominant_signal":"throughput","timestamp":"2026-05-06T07:08:09Z","extra":{"deep":[1,2]}}`))
	if err != nil || *e.Score != 0.5 || *e.Threshold != 0.88 || e.Rank != nil || e.Signal != "throughput" || e.Excess != nil || e.Cause != nil {
		t.Errorf("%+v %v", e, err)
	}
	e, err = wire.ParseEvent([]byte(`{"type":"inference_outlier","node_id":"n","cluster_id":"c","timestamp":"2026-05-06T07:08:09Z","pid":7}`))
	if err != nil || e.Type != "inference_outlier" {
		t.Errorf("%+v %v", e, err)
	}
}

func TestUnacceptableEvent(t *testing.T) {
	const rest = `,"node_id":"n","timestamp":"2026-05-06T07:08:09Z"`
	for line, why := range map[string]string{
		"{}":                          "type: is missing",
		`{"type":"x"}`:                "timestamp: is missing",
		`{"type":"a\nb"` + rest + `}`: "type: has the character U+000A, which is not printable",
		`{"type":"straggler_state","timestamp":"2026-05-06T07:08:09Z"}`: "node_id: is missing",
		`{"type":"x"` + rest + `,"rank":-1}`:                            "rank: is -1; from 0 to 1048575",
		`{"type":"x"` + rest + `,"rank":8,"world_size":8}`:              "rank: is 8 of a world of 8",
		`{"type":"x"` + rest + `,"world_size":-8}`:                      "world_size: is -8; from 0 to 1048576",
		strings.Repeat(" ", 16385):                                      "the line has 16385 bytes; 16384 at most",
	} {
		if _, err := wire.ParseEvent([]byte(line)); err == nil || err.Error() != why {
			t.Errorf("%q: %v\nwant %s", line, err, why)
		}
	}
	for _, line := range []string{"", "x", "[]", `{"type":3}`, `{"type":"x","score":"1"}`, `{"type":"x","score":1e999}`, `{"type":"x","rank":1.5}`, `{"type":"x","timestamp":"yesterday"}`, `{} {}`} {
		if _, err := wire.ParseEvent([]byte(line)); fault(err) != wire.Malformed {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestNumbersOfEventsAreFinite(t *testing.T) {
	v := health.Verdict{
		Rank: 3, At: sent, Excess: math.NaN(), Own: math.Inf(1), Peer: 0.2, Sigma: math.Inf(-1), G: math.NaN(), H: 16,
	}
	e := wire.NewEvent(v, wire.About{Node: "n"}, &wire.Cause{Kind: "lock", MS: math.NaN(), Explained: math.Inf(1)})
	for i, v := range []*float64{e.Score, e.Excess, e.OwnMS, e.LostMS, e.Sigma, e.G} {
		if v != nil {
			t.Errorf("number %d is %v", i, *v)
		}
	}
	if *e.H != 16 || *e.PeerMS != 200 {
		t.Errorf("%+v", e)
	}
	got, err := wire.ParseEvent(event(t, e))
	if err != nil || got.Cause.Kind != "lock" || got.Cause.MS != 0 {
		t.Errorf("%+v %v", got, err)
	}
	inf := math.Inf(1)
	e.G = &inf
	if b, err := wire.AppendEvent([]byte("kept"), &e); err == nil || err.Error() != "g: is not finite" || string(b) != "kept" {
		t.Errorf("%q %v", b, err)
	}
}

func TestLongCauseIsCut(t *testing.T) {
	long := strings.Repeat("\"é", 4000) + "\xff\x00\n"
	c := &wire.Cause{Kind: long, Culprit: "/tmp/a\nb\xff", Second: long}
	for range 100 {
		c.Evidence = append(c.Evidence, long)
	}
	line := event(t, wire.NewEvent(health.Verdict{Rank: 3, At: sent}, wire.About{Node: strings.Repeat("\"", 256), Cluster: strings.Repeat("\"", 256)}, c))
	if len(line) > wire.MaxEvent {
		t.Errorf("%d bytes", len(line))
	}
	got, err := wire.ParseEvent(line)
	if err != nil || len(got.Cause.Evidence) != 16 || len(got.Cause.Kind) > 256 || len(got.Cause.Kind) < 250 || got.Cause.Culprit != "/tmp/a?b\uFFFD" {
		t.Errorf("%+v %v", got.Cause, err)
	}
}
