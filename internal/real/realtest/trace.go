package realtest

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/hollow"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// Traced is the result of a run under the whole tracer.
type Traced struct {
	DB       string
	Said     string // standard output
	Recorded map[event.Op]uint64
	Called   map[string]uint64 // by the hollow GPU's own count
	Summary  agent.Summary
}

// allStacksMB is the size of a ring with room for the copies of all native stacks, MB.
const allStacksMB = 512

// Trace runs a program as "ingero trace -- COMMAND" does, and reads the recording. env is the
// result of hollow.Env and what else the program needs; settings are those of the hollow GPU.
func Trace(
	t *testing.T, command, env []string, settings string, stacks probe.StackPolicy, sinks ...agent.Sink,
) (r Traced) {
	t.Helper()
	kerneltest.Require(t)
	db, shared := filepath.Join(t.TempDir(), "run.db"), ""
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if name == "HOLLOW_FILE" {
			shared = value
		}
		t.Setenv(name, value)
	}
	t.Setenv("HOLLOW", settings)
	var out, errs bytes.Buffer
	ring := 0
	if stacks == probe.StackAll {
		ring = allStacksMB
	}
	var err error
	r.Summary, err = agent.Run(t.Context(), agent.Options{
		Command: command, UID: agent.AnyUser, Backend: probe.Backend(kerneltest.Backend()), Stack: stacks,
		Stdout: &out, Stderr: &errs, InnerCalls: true, RingMB: ring, Sinks: sinks,
		Record: &agent.Recording{Path: db, Open: func(s store.Session) (store.Writer, error) {
			return sqlite.OpenWriter(db, sqlite.Options{Session: s})
		}},
	})
	if err != nil || r.Summary.ExitCode != 0 {
		t.Fatalf("exit code %d, %v\n%s", r.Summary.ExitCode, err, Tail(errs.String()))
	}
	r.Said, r.DB = out.String(), db
	rd, err := sqlite.OpenReader(db)
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close() // a reader has written nothing
	stats, err := store.List[store.OpStat](t.Context(), rd, store.Window{})
	if err != nil {
		t.Fatal(err)
	}
	r.Recorded = map[event.Op]uint64{}
	for i := range stats {
		r.Recorded[stats[i].Op] += stats[i].Calls
	}
	rows, err := hollow.Counts(shared)
	if err != nil {
		t.Fatal(err)
	}
	r.Called = map[string]uint64{}
	for _, row := range rows {
		if row.Kind == hollow.Call {
			r.Called[row.Name] += row.Count
		}
	}
	return r
}

// Tail is the end of what a program printed.
func Tail(s string) string { return s[max(0, len(s)-4000):] }

// Compare fails the test unless each call of each operation was recorded.
func (r *Traced) Compare(t *testing.T) {
	t.Helper()
	r.compare(t, false)
}

// CompareLate does what Compare does, on a machine whose CPUs are all busy. There a new process may
// map a library before the tracer gets a CPU. Calls may be missing only if the tracer reports that
// it was late, and at most a tenth of all.
func (r *Traced) CompareLate(t *testing.T) {
	t.Helper()
	r.compare(t, slices.ContainsFunc(r.Summary.Losses, func(l event.Loss) bool {
		return l.Kind == event.LostLate && l.Count > 0
	}))
}

// compare compares the recorded calls with those that were made. late allows for calls made before
// the probes were attached, at most a tenth of all.
func (r *Traced) compare(t *testing.T, late bool) {
	t.Helper()
	var made, all, ops uint64
	for op := range event.Catalog {
		var want uint64
		for _, name := range event.Catalog[op].SymbolNames() {
			want += r.Called[name]
		}
		got := r.Recorded[event.Catalog[op].Op]
		if got > want || got < want && !late {
			t.Errorf("%s: the GPU counts %d calls, %d recorded", event.Catalog[op].Name, want, got)
		}
		made += want
		all += got
		if got > 0 {
			ops++
		}
	}
	if all < 1000 || all < made-made/10 {
		t.Errorf("only %d calls recorded of %d", all, made)
	}
	for _, l := range r.Summary.Losses {
		if l.Kind.Counts() || l.Kind == event.LostLate && !late {
			t.Errorf("lost %d %s", l.Count, l.Kind)
		}
	}
	t.Logf("%d calls of %d operations; this process used %d MB at most, earlier tests included", all, ops,
		r.Summary.MaxRSS>>20)
}
