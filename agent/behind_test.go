package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/probe"
	"github.com/ingero-io/ingero/store"
)

// output is what programs printed; it is read while they print.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) lines() [][]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Split(bytes.TrimSpace(bytes.Clone(o.b.Bytes())), []byte("\n"))
}

// stuck is a recording on a disk that does not answer until it is freed.
type stuck struct {
	*counter
	freed chan struct{}
}

func (s *stuck) Write(b *store.Batch) error {
	<-s.freed
	return s.counter.Write(b)
}

// A process that is born while the recording cannot be written has its probes in time.
func TestNewProcessesAreExactWhileTheRecordingIsStuck(t *testing.T) {
	files := extract(t)
	t.Setenv("LD_LIBRARY_PATH", files.LibDir)
	c := stuck{newCounter(), make(chan struct{})}
	o := c.options()
	o.Record.Open = func(store.Session) (store.Writer, error) { return &c, nil }
	var out output
	o.Stdout = &out
	loop := "sleep 1 | " + files.Victim + " loop --steps 300 --wait-stdin" // time to attach, as Python takes more to start
	o.Command = []string{"sh", "-c", loop + "; " + loop + "; " + loop}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { // the last one runs while all is well again
		defer close(c.freed)
		for end := time.Now().Add(time.Minute); len(out.lines()) < 2 && ctx.Err() == nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		}
	}()
	var backend probe.Backend
	o.Started = func(s agent.Start) {
		if backend = s.Backend; backend == probe.BackendPerf {
			stop()
		}
	}
	s, err := agent.Run(ctx, o)
	if backend == probe.BackendPerf {
		t.Skip("a file for each function: a process takes seconds to attach to, and a minute to leave")
	}
	if err != nil || s.ExitCode != 0 {
		t.Fatalf("exit code %d, %v", s.ExitCode, err)
	}
	lines := out.lines()
	if len(lines) != 3 {
		t.Fatalf("three loops printed %q", lines)
	}
	for _, line := range lines {
		var truth cudastub.Truth
		if err := json.Unmarshal(line, &truth); err != nil {
			t.Fatal(fmt.Errorf("%w: %q", err, line))
		}
		c.compare(t, truth, s)
	}
}
