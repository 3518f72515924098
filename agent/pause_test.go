package agent

import (
	"testing"
	"time"
)

func TestARecordingThatCannotBeWrittenIsTriedLessAndLessOften(t *testing.T) {
	t.Parallel()
	began := time.Unix(1000, 0)
	now := began
	var p pause
	if !p.due(now) || p.on() || p.unwritten() != nil {
		t.Fatal("a recording is not written from the beginning")
	}
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30, 30} {
		if first := p.failed(now, "the disk was full"); first != (i == 0) {
			t.Fatalf("failure %d: it began there: %v", i, first)
		}
		if u := p.unwritten(); u == nil || !u.Since.Equal(began) || u.Why != "the disk was full" {
			t.Fatalf("failure %d: unwritten is %+v", i, u)
		}
		want *= time.Second
		if p.due(now.Add(want - 1)) {
			t.Errorf("failure %d: tried before %s have passed", i, want)
		}
		if now = now.Add(want); !p.due(now) {
			t.Errorf("failure %d: not tried after %s", i, want)
		}
	}
}

func TestARecordingIsWrittenAgainAfterASuccess(t *testing.T) {
	t.Parallel()
	began := time.Unix(1000, 0)
	var p pause
	if p.wrote() != nil {
		t.Fatal("a pause ended that never began")
	}
	p.failed(began, "the disk was full")
	p.failed(began.Add(time.Second), "a write to the disk failed")
	if u := p.wrote(); u == nil || !u.Since.Equal(began) || u.Why != "a write to the disk failed" {
		t.Errorf("what ended is %+v", u)
	}
	if p.on() || !p.due(began) || p.unwritten() != nil {
		t.Error("it is not written after a success")
	}
	if !p.failed(began, "again") || p.due(began) || !p.due(began.Add(firstPause)) {
		t.Error("the next pause does not begin like the first one")
	}
}
