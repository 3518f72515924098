package e2e_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/rig"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// answers are the rows of a query by their first column, each value as text.
func (r *recording) answers(query string) map[string][]string {
	r.t.Helper()
	q, err := sqlite.Query(r.t.Context(), r.db, query, store.Limits{})
	if err != nil {
		r.t.Fatal(err)
	}
	defer q.Close()
	out := map[string][]string{}
	for q.Next() {
		var row []string
		for _, v := range q.Values() {
			row = append(row, fmt.Sprint(v))
		}
		out[row[0]] = row[1:]
	}
	if q.Err() != nil {
		r.t.Fatal(q.Err())
	}
	return out
}

func (r *recording) do(command string) map[string]string {
	r.t.Helper()
	a, err := r.victim.Do(command)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

// Calls that do not return are in the recording while they last: what they wait for, which thread
// holds it, and where in the code they are. Two of them return; in the others the process is
// killed.
func TestCallsThatDoNotReturnAreSeen(t *testing.T) {
	r := record(t, "")
	fifo := filepath.Join(t.TempDir(), "batches.fifo")
	for _, op := range []string{"cudaStreamSynchronize", "cudaMemcpy", "cudaDeviceSynchronize", "cudaFree"} {
		r.do("call " + op + " 20")
	}
	lock := r.do("hang cudaStreamSynchronize on=lock at=cuStreamSynchronize stream=7")
	read := r.do("hang cudaMemcpy on=read bytes=4096 path=" + fifo)
	spin := r.do("hang cudaDeviceSynchronize on=spin")
	dead := r.do("hang cudaFree on=deadlock ptr=4096")

	const query = "select tid, op, coalesce(inner_op, ''), outcome, doing, coalesce(waits_for, ''), " +
		"coalesce(holder_tid, 0), coalesce(holder_comm, ''), coalesce(file, ''), arg0, comm, duration_ns, " +
		"stack_hash from calls_in_flight"
	var rows map[string][]string
	for end := time.Now().Add(6 * time.Second); len(rows) < 5 &&
		time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		rows = r.answers(query)
	}
	for _, w := range []struct {
		tid  string
		want []string
		in   string // a function of the stack
	}{
		{lock["tid"], []string{
			"cudaStreamSynchronize", "cuStreamSynchronize", "in_flight", "blocked", "futex",
			lock["holder"], "victim-holding", "", "7",
		}, "wait_for_lock"},
		{read["tid"], []string{"cudaMemcpy", "", "in_flight", "blocked", "pipe", "0", "", fifo, "4096"}, "read_fifo"},
		{spin["tid"], []string{"cudaDeviceSynchronize", "", "in_flight", "running", "", "0", "", "", "0"}, ""},
		{
			dead["tid"],
			[]string{"cudaFree", "", "in_flight", "blocked", "futex", dead["other"], "victim-hanging", "", "4096"},
			"wait_for_each_other",
		},
		{
			dead["other"],
			[]string{"cudaFree", "", "in_flight", "blocked", "futex", dead["tid"], "victim-hanging", "", "4096"},
			"wait_for_each_other",
		},
	} {
		row := rows[w.tid]
		if row == nil {
			t.Errorf("thread %s, which is in %s, is not in calls_in_flight: %v", w.tid, w.want[0], rows)
			continue
		}
		if w.want[0] == "cudaDeviceSynchronize" && row[3] == "runnable" { // it waited for a CPU when it was sampled
			w.want[3] = "runnable"
		}
		if !slices.Equal(row[:9], w.want) {
			t.Errorf("in flight: %q, want %q", row[:9], w.want)
		}
		if ns, _ := strconv.ParseInt(row[10], 10, 64); ns < 1e9 || ns > 8e9 || row[9] != "victim-hanging" {
			t.Errorf("%s of %s in flight for %s ns", w.want[0], row[9], row[10])
		}
		var stack []string
		for _, f := range r.answers("select depth, symbol from stack_frames where kind = 'native' and stack_hash = " +
			row[11]) {
			stack = append(stack, f[0])
		}
		if w.in != "" && (!slices.Contains(stack, w.in) || !slices.Contains(stack, "make_the_call")) {
			t.Errorf("the stack of %s has neither %s nor its callers: %q", w.want[0], w.in, stack)
		}
		if w.in == "" && row[11] != "0" && !slices.Contains(stack, "make_the_call") {
			t.Errorf("a stack of a thread that runs does not lead out of its call: %q", stack)
		}
	}
	var holding map[string][]string
	napping := []string{"blocked", "sleep", "victim-holding", "1", "1"} // it runs for a moment between its sleeps
	for end := time.Now().Add(6 * time.Second); !slices.Equal(holding[lock["holder"]], napping) &&
		time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		holding = r.answers("select tid, doing, waits_for, comm, stack_hash <> 0, kernel_stack_hash <> 0 from lock_holders")
	}
	if h := holding[lock["holder"]]; !slices.Equal(h, napping) {
		t.Errorf("who holds the lock: %q of %q", h, holding)
	}

	r.do("release")
	returned := func() (n int) {
		for _, o := range r.answers("select tid, outcome from long_calls where outcome = 'returned'") {
			n += len(o)
		}
		return n
	}
	for end := time.Now().Add(6 * time.Second); returned() < 2 &&
		time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
	}
	if err := syscall.Kill(r.victim.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.done:
	case <-time.After(10 * time.Second):
		t.Fatal("the tracer goes on without its process")
	}
	outcomes := r.answers("select tid, outcome, duration_ns from long_calls")
	for tid, want := range map[string]string{
		lock["tid"]: "returned", spin["tid"]: "returned", read["tid"]: "died",
		dead["tid"]: "died", dead["other"]: "died",
	} {
		if o := outcomes[tid]; len(o) != 2 || o[0] != want {
			t.Errorf("thread %s: %q, want it %s", tid, o, want)
		}
	}
	if left := r.answers("select tid, op from calls_in_flight"); len(left) != 3 {
		t.Errorf("not returned: %q, want three", left)
	}
	r.checkHangs(fifo, dead["tid"], dead["other"])
}

// checkHangs explains the recording and expects a read that hangs, and a deadlock.
func (r *recording) checkHangs(fifo string, deadlocked ...string) {
	r.t.Helper()
	e, err := rig.Explain(r.t.Context(), r.db)
	if err != nil {
		r.t.Fatal(err)
	}
	var reads, deadlocks int
	for _, c := range e.Report.Chains {
		if c.Cause.Kind != "hang" {
			continue
		}
		switch {
		case strings.Contains(c.Summary, "deadlock") && c.Effect.Op == "cudaFree" &&
			slices.Contains(deadlocked, fmt.Sprint(c.Effect.TID)):
			deadlocks++
		case strings.Contains(c.Summary, fifo) && c.Effect.Op == "cudaMemcpy":
			reads++
		default:
			r.t.Errorf("hangs: %s", c.Summary)
		}
		if !slices.ContainsFunc(c.Stack, func(f string) bool { return strings.HasPrefix(f, "make_the_call") }) {
			r.t.Errorf("%s has no stack of its callers: %q", c.Summary, c.Stack)
		}
	}
	if reads != 1 || deadlocks != 2 || len(e.Report.InFlight) != 3 {
		var b strings.Builder
		_ = report.WriteText(&b, e.Report, report.TextOptions{}) // writing to a buffer cannot fail
		r.t.Errorf("%d reads and %d deadlocks hang, %d calls in flight; want 1, 2 and 3\n%s", reads, deadlocks,
			len(e.Report.InFlight), b.String())
	}
}
