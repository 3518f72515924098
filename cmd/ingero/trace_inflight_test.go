package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/event"
)

// statusInFlight is a second in which seven calls have not returned.
func statusInFlight() *agent.Status {
	now := time.Unix(1000, 0)
	i, _ := event.ByName("cudaStreamSynchronize")
	f := event.InFlight{
		Thread: event.Thread{PID: 1, TID: 2}, Comm: "engine\x1b", Op: i.Op, Start: 995e9, At: 999e9, Doing: event.Blocked,
		Class:  event.Futex,
		Holder: event.Thread{PID: 1, TID: 3}, HolderComm: "hold", Syscall: 202, Args: [event.NumArgs]uint64{7}, OnCPU: 5,
		Stack: 9,
	}
	f.NS[event.Futex] = 4e9
	s := &agent.Status{At: now, Elapsed: time.Minute}
	for range 7 {
		s.InFlight, s.Where = append(s.InFlight, f), append(s.Where, "train.py:9 in step")
	}
	return s
}

func TestCallsInFlightAreShown(t *testing.T) {
	var out bytes.Buffer
	lines := newLineView(&out, 0, "")
	lines.Second(statusInFlight())
	if err := lines.lines.close(); err != nil {
		t.Fatal(err)
	}
	want := "in flight: engine\\x1b (tid 2) in cudaStreamSynchronize for 5 s, blocked on a lock held by hold (tid 3), " +
		"called at train.py:9 in step"
	if n := strings.Count(out.String(), want); n != 5 || !strings.Contains(out.String(), "2 more calls in flight") {
		t.Errorf("%d of 5 lines:\n%s", n, out.String())
	}
	out.Reset()
	view := newJSONView(&out, nil)
	view.Second(statusInFlight())
	if err := view.lines.close(); err != nil {
		t.Fatal(err)
	}
	var second jsonSecond
	if err := json.Unmarshal(out.Bytes(), &second); err != nil {
		t.Fatal(err)
	}
	if len(second.InFlight) != 7 {
		t.Fatalf("%d calls in JSON", len(second.InFlight))
	}
	if f := second.InFlight[0]; f.Op != "cudaStreamSynchronize" || f.Args["stream"] != 7 || f.Holder != 3 ||
		f.WaitsFor != "futex" || f.OffCPU["futex"] != 4e9 || f.Age != 4e9 || f.Where != "train.py:9 in step" {
		t.Errorf("in JSON: %+v", f)
	}
}
