package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/rig"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// job is a run of several ranks under the whole tracer.
type job struct {
	rig.Explanation
	truth cudastub.RanksTruth
	db    string
}

// train traces a job from before its first rank exists.
func train(t *testing.T, args ...string) *job {
	t.Helper()
	return trainInto(t, nil, args...)
}

// trainInto is train with sinks.
func trainInto(t *testing.T, sinks []agent.Sink, args ...string) *job {
	t.Helper()
	kerneltest.Require(t)
	dir, err := rig.Folder("ingero-ranks-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeAll(dir) })
	files, err := cudastub.Extract(dir)
	if err != nil {
		t.Fatal(err)
	}
	// As in a Python wheel: under another name, in a virtual environment.
	wheel := filepath.Join(dir, "venv/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl-0a1b2c3d.so.2.21.5")
	if slices.Contains(args, "--load-late") {
		library, err := os.ReadFile(filepath.Join(files.LibDir, "libnccl.so.2"))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(wheel), 0o755)
		}
		if err == nil {
			err = os.WriteFile(wheel, library, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, "--nccl", wheel)
	}
	r, err := files.StartRanks(t.Context(), cudastub.Options{},
		append([]string{"--dir", dir, "--nice", "-10"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	j := &job{db: filepath.Join(t.TempDir(), "ranks.db")}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var truthErr error
	ended := make(chan struct{})
	_, err = agent.Run(ctx, agent.Options{
		UID: agent.AnyUser, PIDs: []int{r.PID()}, Record: into(j.db), Sinks: sinks,
		Started: func(agent.Start) {
			go func() {
				defer close(ended)
				defer stop()
				j.truth, truthErr = r.Wait()
			}()
		},
	})
	stop()
	if err != nil {
		t.Fatal(err)
	}
	<-ended
	if truthErr != nil {
		t.Fatal(truthErr)
	}
	if j.Explanation, err = rig.Explain(t.Context(), j.db); err != nil {
		t.Fatal(err)
	}
	return j
}

// into is a recording to a file.
func into(db string) *agent.Recording {
	return &agent.Recording{Path: db, Node: "here", Open: func(s store.Session) (store.Writer, error) {
		return sqlite.OpenWriter(db, sqlite.Options{Session: s})
	}}
}

// stragglers are the chains that name a late rank.
func (j *job) stragglers() (list []*report.Chain) {
	for i := range j.Report.Chains {
		if c := &j.Report.Chains[i]; c.Cause.Kind == "collective_straggler" {
			list = append(list, c)
		}
	}
	return list
}

func (j *job) dump(t *testing.T) {
	t.Helper()
	var b strings.Builder
	if err := report.WriteText(&b, j.Report, report.TextOptions{Width: 120}); err != nil {
		t.Error(err)
	}
	t.Logf("truth: %+v\n%s", j.truth, b.String())
}

// meanLate is the mean lateness that the program reports, and that in the recording for the same
// steps, ns.
func (j *job) meanLate(every int) (truth, seen float64) {
	at := map[uint32][]uint64{} // by number, when the ranks entered
	late := map[uint32]uint64{}
	for _, c := range j.Input.Collectives {
		if int(c.Rank) == j.truth.LateRank {
			late[c.Seq] = c.At
		} else {
			at[c.Seq] = append(at[c.Seq], c.At)
		}
	}
	for i, ns := range j.truth.LateNS {
		seq := uint32((i + 1) * every)
		if len(at[seq]) != len(j.truth.PIDs)-1 {
			return 0, 0
		}
		truth += float64(ns)
		seen += float64(int64(late[seq] - slices.Max(at[seq])))
	}
	n := float64(len(j.truth.LateNS))
	return truth / n, seen / n
}

// lateCase is a job with a late rank, and what must be reported about it.
type lateCase struct {
	late         string
	ranks, every int
	args         string
	says, state  string
}

func (c *lateCase) options() []string {
	list := append(strings.Fields(c.args), "--late", c.late, "--ranks", strconv.Itoa(c.ranks), "--every",
		strconv.Itoa(c.every))
	// Only the fault may keep a rank from its CPU. With a hog, seven real-time ranks on the CPU
	// that the hog leaves free would keep the tracer from it, too.
	if c.late != "hog" || c.ranks == 2 {
		list = append(list, "--fifo", "1")
	}
	return list
}

// checkLate compares the findings about the late rank with what the job knows.
func (j *job) checkLate(t *testing.T, c lateCase) {
	t.Helper()
	truth, seen := j.meanLate(c.every)
	if d := seen / truth; !(d > 0.95 && d < 1.05) {
		t.Errorf("late by %.2f ms in the recording, by %.2f ms in truth", seen/1e6, truth/1e6)
	}
	list := j.stragglers()
	if len(list) == 0 {
		j.dump(t)
		t.Fatal("nobody is said to be late")
	}
	s := list[0]
	if int(s.Cause.PID) != j.truth.PIDs[j.truth.LateRank] ||
		!strings.Contains(s.Summary, fmt.Sprintf("rank %d,", j.truth.LateRank)) {
		t.Errorf("process %d is blamed, the late rank is %d", s.Cause.PID, j.truth.PIDs[j.truth.LateRank])
	}
	if !strings.Contains(s.Summary, c.says) || len(s.Path) < 2 || s.Path[1].State != c.state {
		t.Errorf("%q is not said, or %+v not %s", c.says, s.Path, c.state)
	}
	if c.late == "hog" && (len(s.Path) != 3 || int(s.Path[2].PID) != j.truth.HogPID) {
		t.Errorf("the path does not end in process %d: %+v", j.truth.HogPID, s.Path)
	}
	if c.every > 1 && !strings.Contains(s.Cause.Detail, fmt.Sprintf("every %d operations", c.every)) {
		t.Errorf("not said to be regular: %s", s.Cause.Detail)
	}
	if len(list) > 1 {
		t.Errorf("%d ranks are said to be late", len(list))
	}
	if t.Failed() {
		j.dump(t)
	}
}

func TestLateRanksAreFound(t *testing.T) {
	for _, c := range []lateCase{
		{"sleep", 2, 4, "--steps 60 --late-ms 20 --load-late 1", "asked to sleep", "blocked"},
		{"disk", 2, 4, "--steps 60 --late-ms 20", "waited for the disk", "blocked"},
		{"hog", 2, 1, "--steps 60 --host-us 1000", "waited for a CPU that backup-agent", "runnable"},
		{"sleep", 8, 5, "--steps 60 --late-ms 30 --late-rank 5", "asked to sleep", "blocked"},
		{"disk", 8, 5, "--steps 60 --late-ms 30 --late-rank 2", "waited for the disk", "blocked"},
		{"hog", 8, 1, "--steps 60 --late-rank 6", "waited for a CPU that backup-agent", "runnable"},
	} {
		t.Run(fmt.Sprintf("%s-%d", c.late, c.ranks), func(t *testing.T) {
			j := train(t, c.options()...)
			j.checkLate(t, c)
		})
	}
}

func TestNoRankIsLateInABalancedJob(t *testing.T) {
	for _, ranks := range []string{"2", "8"} {
		t.Run(ranks, func(t *testing.T) {
			// The ranks wait for their GPUs most of the time. So two CPUs are enough for eight
			// ranks, and no other program on this machine can delay them. All wake up at once, and
			// really wait for each other's CPU then: with 20 ms on the GPU for up to 2.5 % of the
			// time.
			j := train(t, "--steps", "100", "--host-us", "20", "--gpu-us", "50000", "--fifo", "1", "--ranks", ranks)
			for _, c := range j.Report.Chains {
				t.Errorf("found %s", c.Summary)
			}
			if t.Failed() {
				j.dump(t)
			}
		})
	}
}

func removeAll(dir string) { _ = os.RemoveAll(dir) } // leftovers are in a temporary folder
