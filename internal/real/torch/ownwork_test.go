package torch

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/cluster/ownwork"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/internal/real/realtest"
	"github.com/ingero-io/ingero/store"
)

// ownWork measures ranks as a sink of a run.
type ownWork struct {
	tracker *ownwork.Tracker
	steps   []ownwork.Step
	reports map[int32]ownwork.Report // the last of each rank with steps
}

func (o *ownWork) Batch(b *store.Batch) {
	o.tracker.Calls(b.Calls)
	o.tracker.Collectives(b.Collectives)
}

func (o *ownWork) Second(s *agent.Status) {
	at := uint64(s.At.UnixNano())
	n := len(o.steps)
	o.steps = o.tracker.Take(at, o.steps)
	for _, s := range o.steps[n:] {
		o.reports[s.Rank] = o.tracker.Report(s.PID, at)
	}
}

// DistributedDataParallel enters its collectives in the thread of the backward pass. The rank that works
// longer in each step has the more own work, and the other one the longer waits.
func TestOwnWorkOfRanks(t *testing.T) {
	const late = 30 * time.Millisecond
	f := fetch(t)
	o := &ownWork{tracker: ownwork.NewTracker(), reports: map[int32]ownwork.Report{}}
	shared := filepath.Join(t.TempDir(), "hollow")
	command := f.Command(t.Context(), shared, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
		"ddp.py", "--steps", "150", "--late-rank", "1", "--late", fmt.Sprint(late.Seconds()))
	realtest.Trace(t, command.Args, f.Env(shared), "devices = 2", probe.StackSlow, o)
	var own, wait [2][]time.Duration
	for _, s := range o.steps {
		if s.Seq >= 20 { // code is loaded in the first ones
			own[s.Rank], wait[s.Rank] = append(own[s.Rank], s.Own), append(wait[s.Rank], s.Wait)
		}
	}
	for i := range own {
		if r := o.reports[int32(i)]; len(own[i]) < 100 || r.Reason != ownwork.Measured || r.Source.Ranks != 2 {
			t.Fatalf("rank %d: %d steps, %+v", i, len(own[i]), r)
		}
	}
	middle := stats.Upper[time.Duration]
	if more, less := middle(own[1])-middle(own[0]), middle(wait[0])-middle(wait[1]); more < late/2 || less < late/2 {
		t.Errorf("the late rank works %v longer and waits %v less", more, less)
	}
	if r := o.reports[1]; !r.FollowsKnown || r.Spare() {
		t.Errorf("the late rank has time to spare: %+v", r)
	}
}
