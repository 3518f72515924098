package metrics

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	spanspb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// slowRank is an event that has all fields.
func slowRank() wire.Event {
	rank, since := int32(5), time.Unix(1_800_000_000, 0).UTC()
	v := func(f float64) *float64 { return &f }
	return wire.Event{
		Type: wire.EventStraggler, Node: "gpu-05", Cluster: "east", At: since.Add(5 * time.Second),
		ID: "01234567-89ab-8def-8123-456789abcdef", Rank: &rank, WorldSize: 8, PID: 4711, Score: v(0.5), Threshold: v(0.9),
		Mode: "fleet", Signal: "own_work", Folded: true, Since: &since, Cohort: "00000000000000ab", Ranks: 7,
		Excess: v(1), OwnMS: v(20), PeerMS: v(10), LostMS: v(10), StepMS: v(100), Sigma: v(0.02), G: v(16), H: v(16),
		Measured: "host", Cause: &wire.Cause{
			Kind: "block_io", Culprit: "the disk", MS: 9, Explained: 0.9, Second: "lock_contention", Evidence: []string{"c1"},
		},
	}
}

// received are the records and spans in an inbox.
func (i *inbox) received() (logs []*logspb.LogRecord, spans []*spanspb.Span) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, r := range i.logs {
		for _, rl := range r.GetResourceLogs() {
			for _, sl := range rl.GetScopeLogs() {
				logs = append(logs, sl.GetLogRecords()...)
			}
		}
	}
	for _, r := range i.spans {
		for _, rs := range r.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				spans = append(spans, ss.GetSpans()...)
			}
		}
	}
	return logs, spans
}

// textsOf are attributes as text.
func textsOf(list []*commonpb.KeyValue) map[string]string {
	m := map[string]string{}
	for _, a := range list {
		switch v := a.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			m[a.GetKey()] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			m[a.GetKey()] = strconv.FormatInt(v.IntValue, 10)
		}
	}
	return m
}

// detections are some that are pushed to an inbox.
func detections(t *testing.T) (*Detections, *Pushed, *inbox) {
	t.Helper()
	box := &inbox{}
	srv := httptest.NewServer(box)
	t.Cleanup(srv.Close)
	e, err := ParseEndpoint(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Push(t.Context(), e, Sender{Node: "gpu-05", Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return NewDetections(p, "gpu-05:8080"), p, box
}

// An event is a record each time that it is said, and one span from when it was so until it ended.
func TestASlowRankIsOneSpan(t *testing.T) {
	d, p, box := detections(t)
	named := slowRank()
	first := named
	first.Cause = nil
	d.Event(&first, "rank 5 is slow")
	named.At = named.At.Add(3 * time.Second)
	d.Event(&named, "rank 5 is slow; cause: block_io")
	end := wire.Event{
		Type: wire.EventResolved, Node: "gpu-05", Cluster: "east", ID: first.ID, At: first.At.Add(time.Minute),
		Rank: first.Rank, Resolved: true,
	}
	d.Event(&end, "rank 5 is no longer slow")
	gone := wire.Event{Type: health.KindGone.String(), Node: "gpu-05", At: end.At, ID: "x", Rank: first.Rank}
	d.Event(&gone, "rank 5 has ended")
	d.Close(end.At)
	d.Event(&first, "this comes too late")
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	logs, spans := box.received()
	names := map[string]string{}
	for _, l := range logs {
		names[l.GetBody().GetStringValue()] = l.GetEventName() + " " + l.GetSeverityText()
		if traced := hex.EncodeToString(l.GetTraceId()) == strings.ReplaceAll(first.ID, "-", ""); traced !=
			strings.HasPrefix(l.GetEventName(), "straggler_") {
			t.Errorf("%s is of the trace %x", l.GetEventName(), l.GetTraceId())
		}
	}
	if want := map[string]string{
		"rank 5 is slow": "straggler_state WARN", "rank 5 is slow; cause: block_io": "straggler_state WARN",
		"rank 5 is no longer slow": "straggler_resolved INFO", "rank 5 has ended": "gone ERROR",
	}; !maps.Equal(names, want) || len(logs) != 4 {
		t.Errorf("%d records: %v", len(logs), names)
	}
	if len(spans) != 1 {
		t.Fatalf("%d spans: %v", len(spans), spans)
	}
	s := spans[0]
	if s.GetName() != "ingero.detection.straggler" || s.GetStartTimeUnixNano() != uint64(first.Since.UnixNano()) ||
		s.GetEndTimeUnixNano() != uint64(end.At.UnixNano()) || len(s.GetEvents()) != 2 ||
		s.GetEvents()[0].GetName() != "cause" || s.GetEvents()[1].GetName() != "outcome" ||
		textsOf(s.GetEvents()[1].GetAttributes())["status"] != "resolved" {
		t.Errorf("the span is %v", s)
	}
	if a := textsOf(s.GetAttributes()); a["cause.culprit"] != "the disk" || a["ingero.node.id"] != "gpu-05" ||
		a["ingero.cluster.id"] != "east" || a["ingero.node.address"] != "gpu-05:8080" {
		t.Errorf("its attributes are %v", a)
	}
}

// Each field of an event's line is an attribute of the same name.
func TestAttributesOfAnEventAreItsFields(t *testing.T) {
	e := slowRank()
	e.Resolved = true
	line, err := wire.AppendEvent(nil, &e)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(line, &fields); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for name, v := range fields {
		if in, ok := v.(map[string]any); ok {
			for inner := range in {
				want = append(want, name+"."+inner)
			}
			continue
		}
		want = append(want, name)
	}
	for _, a := range eventAttributes(&e) {
		got = append(got, string(a.Key))
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(want) < 30 || !slices.Equal(got, want) {
		t.Errorf("the attributes are %v,\nthe fields %v", got, want)
	}
}

// A suspect has a span while it is one. What has not ended with the tracer is unresolved.
func TestASuspectIsASpan(t *testing.T) {
	d, p, box := detections(t)
	at := time.Unix(1_800_000_000, 0)
	state := func(second int, states ...string) {
		var list []wire.RankState
		for rank, s := range states {
			list = append(list, wire.RankState{Node: "gpu-05", Cohort: "ab", Rank: int32(rank), PID: uint32(rank), State: s})
		}
		d.States(at.Add(time.Duration(second)*time.Second), list)
	}
	state(0, "active", "active", "active", "active")
	state(1, "suspect", "suspect", "suspect", "suspect")
	state(2, "suspect", "suspect", "suspect", "suspect")
	state(3, "active", "straggler", "suspect")
	state(4, "active", "straggler", "suspect")
	d.Close(at.Add(5 * time.Second))
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, spans := box.received()
	var got []string
	for _, s := range spans {
		took := time.Duration(s.GetEndTimeUnixNano() - s.GetStartTimeUnixNano())
		got = append(got, textsOf(s.GetAttributes())["rank"]+" "+s.GetName()+" "+took.String()+" "+
			textsOf(s.GetEvents()[0].GetAttributes())["status"])
	}
	slices.Sort(got)
	want := []string{
		"0 ingero.detection.degradation 2s resolved", "1 ingero.detection.degradation 2s straggler",
		"2 ingero.detection.degradation 4s unresolved", "3 ingero.detection.degradation 2s unresolved",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the spans are %v", got)
	}
}

// What a receiver does not get is counted.
func TestWhatIsNotSentIsCounted(t *testing.T) {
	e, err := ParseEndpoint("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Push(t.Context(), e, Sender{Node: "gpu-05", Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	d := NewDetections(p, "")
	slow := slowRank()
	const more = 7
	for range logQueue + more {
		d.Event(&slow, "rank 5 is slow")
	}
	d.Close(slow.At)
	ended, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	_ = p.Close(ended) // exporters hand their errors to otel's handler
	if logs, spans := p.Lost(); logs != logQueue+more || spans != 1 {
		t.Errorf("%d log records and %d spans count as lost, of %d and 1", logs, spans, logQueue+more)
	}
}
