package diagnose_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/diagnose/diagnosetest"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store/eventtext"
)

// machineOf returns the machine of one rank of a job of three; all ranks have the same PIDs. Rank 1 has
// to share its CPU. ahead is by how many seconds the machine's clock is ahead.
func machineOf(t *testing.T, rank int, ahead int64) *diagnose.Input {
	t.Helper()
	enter, disturbed := 2300, ""
	if rank == 1 {
		enter = 6300
		disturbed = "  off +2250us thread=r dur=4000us class=runq runq=4000us culprit=hog:4000us\n" +
			"  gap +2005us thread=r dur=4295us next=ncclAllReduce runq=4000us invol=1\n"
	}
	r, err := eventtext.Parse(fmt.Sprintf(`process trainer-%[1]d pid=100 parent=1 cgroup=/jobs/%[1]d traced
thread r pid=100 tid=100 comm=rank-%[1]d dispatch
process backup-agent pid=300 parent=1
thread hog pid=300 tid=300 comm=backup-agent
call +0 thread=r op=ncclCommInitRank dur=1ms args=0xc0,3,%[1]d,77
repeat 60 every 10ms {
  call +2000us thread=r op=cudaLaunchKernel dur=5us gpu=0
%[4]s  call +%[2]dus thread=r op=ncclAllReduce dur=20us args=0xc0,4000000,0x700000000,5 gpu=0
  call +%[3]dus thread=r op=cudaStreamSynchronize dur=%[5]dus args=5 poll=%[6]dus vol=1 gpu=0
}
`, rank, enter, enter+50, disturbed, 6900-enter-50, 6900-enter-100))
	if err != nil {
		t.Fatal(err)
	}
	by := uint64(ahead * 1e9)
	for i := range r.Calls {
		r.Calls[i].Start += by
	}
	for i := range r.OffCPU {
		r.OffCPU[i].Start += by
	}
	for i := range r.Gaps {
		r.Gaps[i].Start += by
	}
	in := diagnosetest.InputOf(r)
	in.Node, in.CPUs = fmt.Sprintf("gpu-%02d", rank), 2
	return in
}

// The late rank and its reason are found across machines, whatever the clocks show.
func TestALateRankOfAnotherMachineIsFound(t *testing.T) {
	for _, clocks := range [][3]int64{{0, 0, 0}, {0, 3600, -7}, {-90, 2, 86400}} {
		var ins []*diagnose.Input
		for rank, ahead := range clocks {
			ins = append(ins, machineOf(t, rank, ahead))
		}
		r := diagnose.DiagnoseMachines(ins)
		var late []report.Chain
		for _, c := range r.Chains {
			if c.Cause.Kind == "collective_straggler" {
				late = append(late, c)
			}
		}
		if len(late) != 1 {
			t.Fatalf("clocks %v: %d ranks are said to be late: %+v", clocks, len(late), r.Chains)
		}
		c := late[0]
		if !strings.Contains(c.Summary,
			"rank 1, trainer-1 (pid 100) on gpu-01, which entered ncclAllReduce 4 ms late: it waited for a CPU that "+
				"backup-agent (pid 300) had") {
			t.Errorf("clocks %v: %s", clocks, c.Summary)
		}
		if c.Cause.Node != "gpu-01" || c.Cause.PID != 100 || c.Effect.Node == "gpu-01" ||
			!strings.Contains(c.Cause.Detail, "it also cost trainer-") {
			t.Errorf("clocks %v: cause %+v of %+v", clocks, c.Cause, c.Effect)
		}
		if n := len(c.Path); n != 3 || c.Path[0].Node != c.Effect.Node || c.Path[1].Node != "gpu-01" ||
			c.Path[2].Process != "backup-agent" || c.Path[2].Node != "gpu-01" {
			t.Errorf("clocks %v: path %+v", clocks, c.Path)
		}
		if r.Node != "gpu-00, gpu-01, gpu-02" || !strings.HasPrefix(r.Verdict, "on gpu-") || r.Events != 3*(1+60*3) {
			t.Errorf("clocks %v: node %q, %d events, %s", clocks, r.Node, r.Events, r.Verdict)
		}
	}
}

// A machine without records in the window is left out. Without a common operation, ranks are not
// compared.
func TestMachinesWithoutCommonOperationsAreNotCompared(t *testing.T) {
	a, b := machineOf(t, 0, 0), machineOf(t, 1, 0)
	for i := range b.Collectives {
		b.Collectives[i].CommID = 78
	}
	for _, c := range diagnose.DiagnoseMachines([]*diagnose.Input{a, b, {Node: "idle"}}).Chains {
		if c.Cause.Kind == "collective_straggler" {
			t.Errorf("said to be late: %s", c.Summary)
		}
		if c.Effect.Node != "gpu-01" {
			t.Errorf("found on %s: %s", c.Effect.Node, c.Summary)
		}
	}
	if r := diagnose.DiagnoseMachines([]*diagnose.Input{{Node: "a"}, {Node: "b"}}); len(r.Chains) != 0 || r.Verdict == "" {
		t.Errorf("of nothing: %+v", r)
	}
}
