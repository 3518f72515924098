package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/rig"
	"github.com/ingero-io/ingero/store/sqlite"
)

// trainApart traces each rank of a job with its own tracer into its own recording, and merges the
// recordings.
func trainApart(t *testing.T, ranks int, args ...string) *job {
	t.Helper()
	kerneltest.Require(t)
	dir, err := rig.Folder("ingero-apart-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeAll(dir) })
	files, err := cudastub.Extract(dir)
	if err != nil {
		t.Fatal(err)
	}
	gate := filepath.Join(dir, "gate")
	r, err := files.StartRanks(t.Context(), cudastub.Options{},
		append([]string{"--dir", dir, "--nice", "-10", "--gate", gate}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Begin(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var inputs []sqlite.MergeInput
	started, ended := make(chan struct{}, ranks), make(chan error, ranks)
	for rank := range ranks {
		pid := rankPID(t, r.PID(), rank)
		db := filepath.Join(t.TempDir(), fmt.Sprintf("rank-%d.db", rank))
		inputs = append(inputs, sqlite.MergeInput{Path: db})
		go func() {
			_, err := agent.Run(ctx, agent.Options{
				UID: agent.AnyUser, PIDs: []int{pid}, Record: into(db), Started: func(agent.Start) { started <- struct{}{} },
			})
			ended <- err
		}()
	}
	for range ranks {
		select {
		case <-started:
		case err := <-ended:
			t.Fatalf("a tracer ended before the job began: %v", err)
		}
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	j := &job{db: filepath.Join(t.TempDir(), "merged.db")}
	if j.truth, err = r.Wait(); err != nil {
		t.Fatal(err)
	}
	stop()
	for range ranks {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sqlite.Merge(t.Context(), j.db, inputs, sqlite.MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	if j.Explanation, err = rig.Explain(t.Context(), j.db); err != nil {
		t.Fatal(err)
	}
	return j
}

// rankPID waits until the launcher has started a rank.
func rankPID(t *testing.T, launcher, rank int) int {
	t.Helper()
	children := fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", launcher)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		list, err := os.ReadFile(children)
		if err != nil {
			t.Fatal(err)
		}
		for f := range strings.FieldsSeq(string(list)) {
			comm, err := os.ReadFile("/proc/" + f + "/comm")
			if err == nil && strings.TrimSpace(string(comm)) == fmt.Sprintf("rank-%d", rank) {
				pid, err := strconv.Atoi(f)
				if err != nil {
					t.Fatal(err)
				}
				return pid
			}
		}
	}
	t.Fatalf("rank %d does not start", rank)
	return 0
}

// The merged recordings of the ranks give the same findings as one recording of all ranks.
func TestLateRanksAreFoundInMergedRecordings(t *testing.T) {
	for _, c := range []lateCase{
		{"sleep", 2, 4, "--steps 60 --late-ms 20", "asked to sleep", "blocked"},
		{"hog", 2, 1, "--steps 60 --host-us 1000", "waited for a CPU that backup-agent", "runnable"},
	} {
		t.Run(c.late, func(t *testing.T) {
			j := trainApart(t, c.ranks, c.options()...)
			j.checkLate(t, c)
			if len(j.Input.Tracers) != 1 {
				t.Errorf("tracers besides process %d: %v", j.Input.SelfPID, j.Input.Tracers)
			}
		})
	}
}
