package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/store"
)

// blockedDisk is a recording on a disk that does not answer until programs have printed two lines.
type blockedDisk struct {
	*counter
	printed bytes.Buffer
	freed   chan struct{}
	free    func()
}

func newBlockedDisk() *blockedDisk {
	s := &blockedDisk{counter: newCounter(), freed: make(chan struct{})}
	s.free = sync.OnceFunc(func() { close(s.freed) })
	return s
}

type disk struct{ *blockedDisk }

func (d disk) Write(b *store.Batch) error {
	<-d.freed
	return d.counter.Write(b)
}

type terminal struct{ *blockedDisk }

func (t terminal) Write(b []byte) (int, error) {
	n, err := t.printed.Write(b)
	if bytes.Count(t.printed.Bytes(), []byte("\n")) >= 2 {
		t.free()
	}
	return n, err
}

// A process that starts while the recording cannot be written has its probes before its first
// call. The third one starts once the recording is written again.
func TestNewProcessesAreExactWhileTheDiskDoesNotAnswer(t *testing.T) {
	files := extract(t)
	t.Setenv("LD_LIBRARY_PATH", files.LibDir)
	c := newBlockedDisk()
	o := c.options()
	o.Record.Open = func(store.Session) (store.Writer, error) { return disk{c}, nil }
	o.Stdout = terminal{c}
	// A second before the first call, as a program in Python takes longer to import its modules.
	loop := "sleep 1 | " + files.Victim + " loop --steps 300 --wait-stdin; "
	o.Command = []string{"sh", "-c", loop + loop + loop + "echo; echo"} // two lines, even if all fail
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var backend probe.Backend
	o.Started = func(s agent.Start) {
		if backend = s.Backend; backend == probe.BackendPerf {
			c.free()
			stop()
		}
	}
	s, err := agent.Run(ctx, o)
	if backend == probe.BackendPerf { // a file for each function: attaching to a process takes seconds
		kerneltest.Lacks(t, "needs a kernel with uprobe_multi (6.6), and not the perf back end")
	}
	if err != nil || s.ExitCode != 0 {
		t.Fatalf("exit code %d, %v", s.ExitCode, err)
	}
	lines := bytes.Split(bytes.TrimSpace(c.printed.Bytes()), []byte("\n"))
	if len(lines) != 3 {
		t.Fatalf("three loops printed %q", lines)
	}
	for _, line := range lines {
		var truth cudastub.Truth
		if err := json.Unmarshal(line, &truth); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		c.compare(t, truth, s)
	}
}
