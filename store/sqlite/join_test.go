package sqlite_test

import (
	"fmt"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// Where in the Python code calls came from is asked by a join of calls with frames, and the innermost Python frame of
// each stack. A statement has half a minute, and a plan that looks at all frames for each call takes hours.
func TestTheLineOfEachCallIsFound(t *testing.T) {
	t.Parallel()
	const calls, stacks, frames, each = 40_000, 4_000, 24, 1_000
	w, path := create(t, sqlite.Options{})
	for first := 0; first < stacks; first += each {
		b := &store.Batch{}
		for n := first; n < first+each; n++ {
			b.Stacks = append(b.Stacks, deepStack(n, frames))
			for i := range calls / stacks {
				b.Calls = append(b.Calls, event.Call{
					Start: 1e18 + uint64(n*calls/stacks+i)*1e6, Duration: 5e5, Thread: event.Thread{PID: 7, TID: 7}, Op: 1,
					Stack: uint64(n + 1), Weight: 1, Ret: 1,
				})
			}
		}
		must(t, w.Write(b))
		must(t, w.Flush(t.Context()))
	}
	must(t, w.Close())
	for _, view := range []string{"events", "calls"} {
		rows := query(t, path, `select f.file, f.line, f.symbol, count(*) from `+view+` e
			join stack_frames f on f.stack_hash = e.stack_hash
			where f.kind = 'python' and f.depth = (select min(g.depth) from stack_frames g
				where g.stack_hash = e.stack_hash and g.kind = 'python') group by 1, 2, 3 order by f.line`)
		if len(rows) != stacks {
			t.Fatalf("%s: %d lines, want %d", view, len(rows), stacks)
		}
		for n, row := range rows {
			want := fmt.Sprint([]any{"train.py", n + 1, "step12", calls / stacks})
			if got := fmt.Sprint(row); got != want {
				t.Fatalf("%s: %s, want %s", view, got, want)
			}
		}
	}
}

// deepStack is a stack whose outer half is in Python: stack n is at line n+1.
func deepStack(n, frames int) event.Stack {
	s := event.Stack{ID: uint64(n + 1), PID: 7}
	for d := range frames {
		f := event.Frame{
			Kind: event.FrameNative, Addr: uint64(n*frames + d), Symbol: fmt.Sprintf("f%d", d), Module: "libtorch.so",
		}
		if d >= frames/2 {
			f = event.Frame{Kind: event.FramePython, Symbol: fmt.Sprintf("step%d", d), File: "train.py", Line: uint32(n + 1)}
		}
		s.Frames = append(s.Frames, f)
	}
	return s
}
