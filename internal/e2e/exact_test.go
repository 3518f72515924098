package e2e_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// recording is a tracer on one victim that writes a database.
type recording struct {
	t      *testing.T
	victim *cudastub.Victim
	db     string
	stop   context.CancelFunc
	done   chan agent.Summary
}

func record(t *testing.T, backend probe.Backend) *recording {
	t.Helper()
	kerneltest.Require(t)
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	victim, err := files.Start(context.Background(), cudastub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { victim.Close() })
	r := &recording{t: t, victim: victim, db: filepath.Join(t.TempDir(), "exact.db"), done: make(chan agent.Summary, 1)}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	t.Cleanup(stop)
	started, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		s, err := agent.Run(ctx, agent.Options{
			PIDs: []int{victim.PID()}, UID: agent.AnyUser, Backend: backend, InnerCalls: true,
			Started: func(agent.Start) { close(started) },
			Record: &agent.Recording{Path: r.db, Node: "n", Open: func(s store.Session) (store.Writer, error) {
				return sqlite.OpenWriter(r.db, sqlite.Options{Session: s})
			}},
		})
		if err != nil {
			failed <- err
		}
		r.done <- s
	}()
	select {
	case <-started:
	case err := <-failed:
		t.Fatal(err)
	}
	return r
}

// finish ends the run and returns the number of calls that the recording stands for, the number of
// its rows, and the number of calls that it reports as dropped.
func (r *recording) finish() (calls, rows, lost int64) {
	r.t.Helper()
	r.stop()
	s := <-r.done
	for _, l := range s.Losses {
		if event.Losses[l.Kind].Unit == "calls" {
			lost += int64(l.Count)
		}
	}
	q, err := sqlite.Query(r.t.Context(), r.db,
		`select count(*), sum(stored), sum(duration_ns) = (select sum(sum_ns) from op_seconds),
		max(duration_ns) = (select max(max_ns) from op_seconds) from calls`, store.Limits{})
	if err != nil {
		r.t.Fatal(err)
	}
	defer q.Close()
	if !q.Next() {
		r.t.Fatal(q.Err())
	}
	v := q.Values()
	if v[2] != int64(1) || v[3] != int64(1) {
		r.t.Error("the calls in the view do not take as long as the roll-ups say")
	}
	return v[0].(int64), v[1].(int64), lost
}

// Every call is stored, represented by a stored row, or reported as dropped; and up to 300,000
// calls a second none is dropped.
func TestEveryCallIsAccountedFor(t *testing.T) {
	for _, c := range []struct {
		name     string
		backend  probe.Backend
		commands []string
		mayLose  bool
	}{
		{"1k a second", probe.BackendSession, []string{"rate cudaLaunchKernel 1000 2"}, false},
		{"10k a second", probe.BackendMulti, []string{"rate cudaLaunchKernel 10000 2"}, false},
		{"100k a second", probe.BackendSession, []string{"rate cudaLaunchKernel 100000 3"}, false},
		{"300k a second", probe.BackendSession, []string{"rate cudaLaunchKernel 300000 3"}, false},
		{"perf", probe.BackendPerf, []string{"rate cudaLaunchKernel 100000 2"}, false},
		{"flat out", "", []string{"call cudaLaunchKernel 2000000 timed=0"}, true},
		{"64 threads, nested", "", []string{"set cudaLaunchKernel:nested", "call cudaLaunchKernel 5000 threads=64"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if b := kerneltest.Backend(); b != "" {
				c.backend = probe.Backend(b)
			}
			r := record(t, c.backend)
			var made int64
			nested := int64(1)
			for _, command := range c.commands {
				a, err := r.victim.Do(command)
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := a["calls"]; ok {
					made += a.Int("calls")
				} else {
					nested = 2
				}
			}
			weight, rows, lost := r.finish()
			t.Logf("%d calls made, %d recorded in %d rows, %d lost", made*nested, weight, rows, lost)
			if made == 0 || weight+lost != made*nested {
				t.Errorf("%d calls made, %d recorded, %d reported lost", made*nested, weight, lost)
			}
			if lost != 0 && !c.mayLose {
				t.Errorf("%d calls lost", lost)
			}
		})
	}
}
