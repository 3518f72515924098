package sink_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/sink"
	"github.com/ingero-io/ingero/cluster/wire"
)

func line(t *testing.T, kind, node, id string) []byte {
	t.Helper()
	b, err := wire.AppendEvent(nil, &wire.Event{Type: kind, Node: node, Cluster: "c", At: time.Unix(100, 0).UTC(), ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func take(t *testing.T, s *sink.Sink, source int, lines ...[]byte) {
	t.Helper()
	for _, l := range lines {
		if err := s.Line(source, l); err != nil {
			t.Fatal(err)
		}
	}
}

func active(s *sink.Sink) (text string) {
	for _, a := range s.Active() {
		text += fmt.Sprint(a.Node.Node, ":", a.Ranks, " ")
	}
	return text
}

func TestNodesHaveSlowRanksUntilTheyEnd(t *testing.T) {
	s := sink.New(10)
	take(t, s, 0, line(t, wire.EventStraggler, "a", "1"), line(t, wire.EventStraggler, "a", "2"),
		line(t, wire.EventStraggler, "b", "3"), line(t, wire.EventStraggler, "a", "1")) // again, with its cause
	if got := active(s); got != "a:2 b:1 " {
		t.Error(got)
	}
	take(t, s, 0, line(t, wire.EventResolved, "a", "1"), line(t, wire.EventResolved, "b", "3"))
	if got := active(s); got != "a:1 " {
		t.Error(got)
	}
	if s.Events[wire.EventStraggler] != 4 || s.Events[wire.EventResolved] != 2 || s.Last.Unix() != 100 {
		t.Errorf("%+v", s)
	}
}

// What ended while the sink was not connected is not repeated on the next connection.
func TestWhatIsNotToldAgainHasEnded(t *testing.T) {
	s := sink.New(10)
	s.Connected(0, 0)
	s.Connected(1, 0)
	take(t, s, 0, line(t, wire.EventStraggler, "a", "1"), line(t, wire.EventStraggler, "a", "2"))
	take(t, s, 1, line(t, wire.EventStraggler, "b", "3"))
	take(t, s, 0, line(t, wire.EventStraggler, "old", "")) // an earlier agent repeats nothing
	s.Tick(5 * time.Second)
	s.Connected(0, 10*time.Second)
	take(t, s, 0, line(t, wire.EventStraggler, "a", "2"))
	s.Tick(11 * time.Second)
	if got := active(s); got != "a:2 b:1 old:1 " {
		t.Errorf("a second later: %s", got)
	}
	s.Tick(12 * time.Second)
	if got := active(s); got != "a:1 b:1 old:1 " {
		t.Error(got)
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	s := sink.New(3)
	for i := range 10 {
		take(t, s, 0, line(t, wire.EventStraggler, fmt.Sprint("n", i), "x"))
	}
	for i := range 100 {
		take(t, s, 0, line(t, wire.EventStraggler, "n0", fmt.Sprint(i)), line(t, fmt.Sprint("type", i), "n0", ""))
	}
	if got := active(s); got != "n0:64 n1:1 n2:1 " {
		t.Error(got)
	}
	if s.Dropped["max_nodes"] != 7 || s.Dropped["max_ranks"] != 37 || s.Events["other"] != 100 || len(s.Events) != len(sink.Types) {
		t.Errorf("%v, %v", s.Dropped, s.Events)
	}
	if err := s.Line(0, []byte("{")); err == nil || s.Faults != 1 {
		t.Error(err)
	}
}

// Seven GPUs wait for a fifth of each step.
func TestWaitingIsCounted(t *testing.T) {
	s := sink.New(10)
	lost, step, rank := 20.0, 100.0, int32(3)
	e := wire.Event{
		Type: wire.EventStraggler, Node: "a", Cluster: "c", At: time.Unix(100, 0).UTC(), ID: "1", Rank: &rank, WorldSize: 8,
		LostMS: &lost, StepMS: &step,
	}
	report := func() {
		t.Helper()
		b, err := wire.AppendEvent(nil, &e)
		if err != nil {
			t.Fatal(err)
		}
		take(t, s, 0, b)
	}
	s.Tick(10 * time.Second)
	report()
	e.Cause = &wire.Cause{Kind: "block_io"}
	report() // again, with the cause
	report()
	s.Tick(11 * time.Second)
	s.Tick(20 * time.Second)
	if got := s.Waiting["c"]; got < 13.99 || got > 14.01 {
		t.Errorf("%v GPU seconds in 10 s, want 14", got)
	}
	take(t, s, 0, line(t, wire.EventResolved, "a", "1"))
	s.Tick(30 * time.Second)
	if got := s.Waiting["c"]; got > 14.01 || s.Causes["block_io"] != 1 || len(s.Causes) != 1 {
		t.Errorf("%v GPU seconds, %v", got, s.Causes)
	}
}
