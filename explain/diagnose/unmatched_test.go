package diagnose_test

import (
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/diagnose/diagnosetest"
)

// A tracer that is started during a job finds the late rank, if the ranks are known.
func TestALateRankOfARunningJobIsFound(t *testing.T) {
	running := func() *diagnose.Input {
		in := diagnosetest.InputOf(read(t, "testdata/collective_straggler_disk.txtar"))
		in.CPUs = 2
		for i := range in.Collectives {
			c := &in.Collectives[i]
			c.CommID, c.Rank, c.Ranks = 0, -1, 0
			if c.PID == 200 {
				c.Seq += 3 // the tracer saw more of this rank's operations
			}
		}
		return in
	}
	in := running()
	r := diagnose.Diagnose(in)
	for _, c := range r.Chains {
		if c.Cause.Kind == "collective_straggler" {
			t.Errorf("nobody says who they are: %s", c.Summary)
		}
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0],
		"120 collective operations of trainer-0 (pid 100), trainer-1 (pid 200)") ||
		!strings.Contains(r.Notes[0], "RANK and WORLD_SIZE") {
		t.Errorf("notes: %q", r.Notes)
	}

	for how, tell := range map[string]func(in *diagnose.Input, pid uint32, rank int){
		"environment": func(in *diagnose.Input, pid uint32, rank int) {
			for i := range in.Processes {
				if p := &in.Processes[i]; p.PID == pid {
					p.Rank, p.WorldSize = rank, 2
				}
			}
		},
		"answers": func(in *diagnose.Input, pid uint32, rank int) {
			t := event.Thread{PID: pid, TID: pid}
			in.Calls = append(in.Calls,
				event.Call{
					Start: in.Ops[0].First, Duration: 100, Thread: t, Op: event.OpUserRank, GPU: event.NoGPU,
					Args: [4]uint64{0xc0, uint64(rank)},
				},
				event.Call{
					Start: in.Ops[0].First + 1000, Duration: 100, Thread: t, Op: event.OpCommCount, GPU: event.NoGPU,
					Args: [4]uint64{0xc0, 2},
				})
		},
	} {
		in := running()
		tell(in, 100, 0)
		tell(in, 200, 1)
		before := in.Collectives[0]
		r := diagnose.Diagnose(in)
		if len(r.Chains) != 1 || len(r.Notes) != 0 {
			t.Fatalf("%s: %d findings, notes %q", how, len(r.Chains), r.Notes)
		}
		c := r.Chains[0]
		if !strings.Contains(c.Summary,
			"rank 1, trainer-1 (pid 200), which entered ncclAllReduce 6 ms late: it waited for the disk") ||
			!strings.Contains(c.Cause.Detail, "was inferred from when they ended") ||
			!strings.Contains(c.Cause.Detail, "every 4 operations") {
			t.Errorf("%s: %s\n%s", how, c.Summary, c.Cause.Detail)
		}
		if in.Collectives[0] != before {
			t.Errorf("%s: the input was changed", how)
		}
	}
}
