package e2e_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/rig"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// graphLoops are programs that use graphs, each with the expected finding; the last one uses them
// properly.
var graphLoops = []struct {
	name string
	args []string
	kind string // expected; "": nothing
	// behaviour is that of the stand-in library, from the start.
	behaviour string
}{
	{
		"storm",
		[]string{"--fault", "graph-recapture", "--fault-ms", "4", "--period-ms", "60", "--nested"},
		event.CauseGraphRecapture, throughDriver,
	},
	{"hoarder", []string{"--fault", "graph-pool", "--fault-ms", "0", "--period-ms", "25"}, event.CauseGraphPool, ""},
	{"lazy", []string{"--fault", "graph-lazy", "--period-ms", "300"}, event.CauseGraphCapture, ""},
	{"eager", []string{"--fault", "graph-eager", "--start-after", "3.6"}, event.CauseGraphLaunchDrop, ""},
	{"healthy", []string{"--fault", "graph-eager", "--start-after", "60"}, "", throughDriver},
}

// throughDriver makes the runtime call the driver for everything it does with graphs.
const throughDriver = "cudaStreamBeginCapture:nested;cudaStreamEndCapture:nested;cudaGraphLaunch:nested;cudaGraphExecDestroy:nested;cudaGraphDestroy:nested"

// Programs with different graph faults run side by side under one tracer: each has its own finding
// about graphs and no other.
func TestGraphFaultsAreFound(t *testing.T) {
	kerneltest.Require(t)
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), "graphs.db")
	o := agent.Options{
		UID: agent.AnyUser, Backend: probe.Backend(kerneltest.Backend()),
		Record: &agent.Recording{Path: db, Node: "n", Open: func(s store.Session) (store.Writer, error) {
			return sqlite.OpenWriter(db, sqlite.Options{Session: s})
		}},
	}
	var loops []*cudastub.LoopRun
	pids := map[uint32]int{}
	for i, l := range graphLoops {
		args := append([]string{
			"--seconds", "7.6", "--start-after", "0", "--name", l.name, "--dir", t.TempDir(), "--host-us",
			"300", "--sync-us", "5000",
		}, l.args...)
		loop, err := files.StartLoop(t.Context(), cudastub.Options{Behaviour: l.behaviour}, args...)
		if err != nil {
			t.Fatal(err)
		}
		loops, o.PIDs = append(loops, loop), append(o.PIDs, loop.PID())
		pids[uint32(loop.PID())] = i
	}
	attached := make(chan struct{})
	o.Started = func(agent.Start) { close(attached) }
	truths := make([]cudastub.Truth, len(loops))
	done := make(chan error, len(loops))
	for i, l := range loops {
		go func() {
			<-attached
			var err error
			truths[i], err = l.Wait()
			done <- err
		}()
	}
	if _, err := agent.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for range loops {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	e, err := rig.Explain(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	checkGraphCauses(t, e.Report, pids)
	checkGraphViews(t, db, truths)
	if t.Failed() {
		var b bytes.Buffer
		_ = report.WriteText(&b, e.Report, report.TextOptions{Width: 120}) // writing to a buffer cannot fail
		t.Logf("%+v\n%s", truths, b.String())
	}
}

// checkGraphCauses compares the findings about graphs with what each program does.
func checkGraphCauses(t *testing.T, r *report.Report, pids map[uint32]int) {
	t.Helper()
	found := make([][]string, len(graphLoops))
	for _, c := range r.Chains {
		i, known := pids[c.Effect.PID]
		if known && strings.HasPrefix(c.Cause.Kind, "graph_") {
			found[i] = append(found[i], c.Cause.Kind)
		}
		if c.Cause.Kind == event.CauseGraphCapture && !strings.Contains(c.Cause.Detail, "called by create_workspace [victim]") {
			t.Errorf("what invalidated the capture is reported as: %s", c.Cause.Detail)
		}
	}
	for i, l := range graphLoops {
		if got := strings.Join(found[i], " "); got != l.kind {
			t.Errorf("%s: found %q, want %q", l.name, got, l.kind)
		}
	}
}

// checkGraphViews compares the counts of the views with what the programs did. The first program's
// calls reach the driver, too, and must count once.
func checkGraphViews(t *testing.T, db string, truths []cudastub.Truth) {
	t.Helper()
	r := &recording{t: t, db: db}
	execs := r.answers("select pid, count(*), sum(launches), sum(destroyed is not null) from graph_execs group by pid")
	captures := r.answers("select pid, count(*), sum(ret_code <> 0), max(capture_mode), max(failed_op) from " +
		"graph_captures group by pid")
	for i, l := range graphLoops {
		c, pid := truths[i].Calls, fmt.Sprint(truths[i].PID)
		want := []string{
			fmt.Sprint(c["cudaGraphInstantiate"]), fmt.Sprint(c["cudaGraphLaunch"]),
			fmt.Sprint(c["cudaGraphExecDestroy"]),
		}
		if got := execs[pid]; c["cudaGraphInstantiate"] > 0 && strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: graph_execs has %v (graphs, launches, destroyed), want %v", l.name, got, want)
		}
		want = []string{fmt.Sprint(c["cudaStreamEndCapture"]), "0", "global", "<nil>"}
		if l.kind == event.CauseGraphCapture {
			want = []string{want[0], want[0], "global", "cudaMalloc"}
		}
		if got := captures[pid]; strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: graph_captures has %v (captures, failed, mode, by), want %v", l.name, got, want)
		}
	}
}
