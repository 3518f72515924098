package apart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/internal/hostile/recording"
	"github.com/ingero-io/ingero/internal/hostile/statement"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// childArg makes this test program one that answers.
const childArg = "answer"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == childArg {
		if err := Answer(os.Stdin, os.Stdout); err != nil {
			fmt.Fprint(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func asker(atOnce int) *Asker {
	return New(func() *exec.Cmd {
		return &exec.Cmd{Path: "/proc/self/exe", Args: []string{os.Args[0], childArg}, Env: []string{}}
	}, atOnce)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func honest(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.db")
	must(t, recording.Honest(path))
	return path
}

// everything reads all rows and the notes.
func everything(t testing.TB, rows store.Rows, err error) (columns []string, lines [][]any, notes []store.Note) {
	t.Helper()
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		lines = append(lines, slices.Clone(rows.Values()))
	}
	must(t, rows.Err())
	return rows.Columns(), lines, rows.Notes()
}

// TestAnswersAreTheSameApart: values of every type, notes, errors and limits come as they do within the process.
func TestAnswersAreTheSameApart(t *testing.T) {
	path := honest(t)
	for _, sql := range []string{
		"select 1, -9223372036854775808, 1.5, 1e308 * 10, null, 'a', '', x'00ff', x'', 'ü' as \"a b\"",
		"select * from events order by id limit 3000",
		"select op, count(*), sum(duration_ns) from cuda_events group by op order by 1",
		"select sum(duration_ns) from off_cpu",
		"select 1 where 0",
	} {
		in, err := sqlite.Query(t.Context(), path, sql, store.Limits{})
		c1, l1, n1 := everything(t, in, err)
		out, err := asker(1).Query(t.Context(), path, sql, store.Limits{Time: time.Minute})
		c2, l2, n2 := everything(t, out, err)
		if d := cmp.Diff([]any{c1, l1, n1}, []any{c2, l2, n2}); d != "" {
			t.Errorf("%s (-within +apart):\n%s", sql, d)
		}
	}
	rows, err := asker(1).Query(t.Context(), path, "select * from events", store.Limits{Rows: 7, Time: time.Minute})
	if _, lines, _ := everything(t, rows, err); len(lines) != 7 || !rows.Truncated() {
		t.Errorf("%d rows, cut %t", len(lines), rows.Truncated())
	}
	for sql, want := range map[string]error{
		"delete from call": store.ErrRefused, "selct 1": store.ErrSyntax, "pragma hard_heap_limit = 0": store.ErrRefused,
	} {
		if _, err := asker(1).Query(t.Context(), path, sql, store.Limits{Time: time.Minute}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", sql, err, want)
		}
	}
	if _, err := asker(1).Query(t.Context(), path+"x", "select 1", store.Limits{Time: time.Minute}); !errors.Is(err, store.ErrNotFound) ||
		!strings.Contains(err.Error(), path+"x") {
		t.Errorf("no recording: %v", err)
	}
}

// TestNotesComeInTheMiddleOfRows: an answer that is full asks for no more rows.
func TestNotesComeInTheMiddleOfRows(t *testing.T) {
	rows, err := asker(1).Query(t.Context(), honest(t), "select id, sum(duration_ns) from off_cpu group by id",
		store.Limits{Time: time.Minute})
	must(t, err)
	defer rows.Close()
	if !rows.Next() || len(rows.Notes()) == 0 {
		t.Errorf("no row or no note: %v", rows.Err())
	}
}

const (
	// mostProcess is what a process that answers may take at most, in KiB: SQLite's 128 MiB, and the program itself.
	mostProcess = 256 << 10
	// mostHere is how much more this process may take for the answers, in bytes.
	mostHere = 64 << 20
	someTime = time.Second
)

// TestHostileStatementsTakeLittle: none takes more memory than its process may have, all end, and nothing of that is
// left here.
func TestHostileStatementsTakeLittle(t *testing.T) {
	path, a := honest(t), asker(2)
	l := store.Limits{
		Value: 256 << 10, Time: someTime, Statement: 16 << 10, Columns: 100, Rows: 20_000, Bytes: 64 << 20,
	}
	before := resident(t)
	todo := make(chan string)
	var asking sync.WaitGroup
	for range 2 {
		asking.Go(func() {
			for sql := range todo {
				try(t, a, path, sql, l)
			}
		})
	}
	for _, sql := range statement.All() {
		todo <- sql
	}
	close(todo)
	asking.Wait()
	runtime.GC()
	if now := resident(t); now > before+mostHere {
		t.Errorf("this process grew from %d to %d MB", before>>20, now>>20)
	}
}

// try asks a hostile statement.
func try(t *testing.T, a *Asker, path, sql string, l store.Limits) {
	t.Helper()
	kb, err := ask(t, a, path, sql, l)
	if kb > mostProcess {
		t.Errorf("%.100s: %d MB", sql, kb>>10)
	}
	known := err == nil
	for _, reason := range reasons {
		known = known || errors.Is(err, reason)
	}
	if !known {
		t.Errorf("%.100s: %v", sql, err)
	}
}

// ask reads an answer and returns the memory that its process had at most, in KiB.
func ask(t *testing.T, a *Asker, path, sql string, l store.Limits) (kb int64, err error) {
	t.Helper()
	got, err := a.Query(t.Context(), path, sql, l)
	if err != nil {
		return 0, err
	}
	for got.Next() { //nolint:revive // the values do not matter
	}
	err = errors.Join(got.Err(), got.Close())
	return got.(*rows).cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss, err
}

func resident(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	must(t, err)
	var size, pages int64
	_, err = fmt.Sscan(string(b), &size, &pages)
	must(t, err)
	return pages * int64(os.Getpagesize())
}

// TestTooMuchMemoryIsSaid: the error says what the limit was about.
func TestTooMuchMemoryIsSaid(t *testing.T) {
	_, err := ask(t, asker(1), honest(t), `with recursive r(n) as (select 1 union all select n + 1 from r
		where n < 2000) select json_group_array(hex(zeroblob(100000))) from r`, store.Limits{Time: time.Minute, Value: 256 << 10})
	if !errors.Is(err, store.ErrTooMuch) {
		t.Errorf("%v", err)
	}
}

// TestCancelledQuestionsEndTheirProcess: nobody waits for them, and their place is free.
func TestCancelledQuestionsEndTheirProcess(t *testing.T) {
	path, a := honest(t), asker(1)
	ctx, cancel := context.WithCancel(t.Context())
	got, err := a.Query(ctx, path, "with recursive r(n) as (select 1 union all select n + 1 from r) select * from r where n < 0",
		store.Limits{Time: time.Hour})
	must(t, err)
	time.AfterFunc(10*time.Millisecond, cancel)
	if got.Next() || !errors.Is(got.Err(), context.Canceled) {
		t.Errorf("%v", got.Err())
	}
	must(t, got.Close())
	must(t, got.Close())
	if p := got.(*rows).cmd.ProcessState; p == nil {
		t.Error("the process still runs")
	}
	rows, err := a.Query(t.Context(), path, "select 1", store.Limits{Time: time.Minute})
	if _, lines, _ := everything(t, rows, err); len(lines) != 1 {
		t.Error("the place was not given back")
	}
}

// TestWaitingQuestionsCanBeCancelled: they have no process yet.
func TestWaitingQuestionsCanBeCancelled(t *testing.T) {
	path, a := honest(t), asker(1)
	first, err := a.Query(t.Context(), path, "select 1", store.Limits{Time: time.Minute})
	must(t, err)
	defer first.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Query(ctx, path, "select 1", store.Limits{Time: time.Minute}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestHalfAnswersAreErrors: whatever the other process says, this one goes on.
func TestHalfAnswersAreErrors(t *testing.T) {
	for name, script := range map[string]string{
		"nothing":          "exit 0",
		"an endless frame": "printf '\\377\\377\\377\\377c'; cat",
		"half a frame":     "printf '\\100\\000\\000\\000cabc'",
		"no frame":         "yes",
		"out of memory":    "echo 'fatal error: runtime: cannot allocate memory' >&2; exit 2",
	} {
		a := New(func() *exec.Cmd { return &exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", script}} }, 1)
		_, err := a.Query(t.Context(), "run.db", "select 1", store.Limits{Time: time.Minute})
		if err == nil || errors.Is(err, store.ErrTooMuch) != (name == "out of memory") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReadRow(f *testing.F) {
	f.Add(appendRow(nil, []any{int64(1), 1.5, "a", []byte("b"), nil}))
	f.Fuzz(func(t *testing.T, b []byte) {
		values := make([]any, 5)
		if err := readRow(b, values); err == nil {
			again := make([]any, 5)
			if err := readRow(appendRow(nil, values), again); err != nil {
				t.Errorf("%v is not read again: %v", values, err)
			}
		}
		_, _ = readNotes(b)
		_ = readError(b)
	})
}

func BenchmarkQuestion(b *testing.B) {
	path, a := honest(b), asker(1)
	for b.Loop() {
		rows, err := a.Query(b.Context(), path, "select count(*) from events", store.Limits{Time: time.Minute})
		everything(b, rows, err)
	}
}
