package realtest

import (
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/hollow"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// python replaces the interpreter's loop in a stack, and in a recording the Python lines that it
// runs there.
const python = "python"

// OwnStacks runs a program without a tracer and returns the stacks of its calls as the program
// itself unwinds them, by the name of the traced operation. isLoop tells which frames are the
// interpreter's loop; nil: none.
func OwnStacks(t *testing.T, cmd *exec.Cmd, isLoop func(frame string) bool) map[string]map[string]bool {
	t.Helper()
	file := t.TempDir() + "/stacks"
	cmd.Env = append(slices.Clone(cmd.Env), hollow.StacksEnv+"="+file)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, Tail(string(out)))
	}
	all, err := hollow.Stacks(file)
	if err != nil {
		t.Fatal(err)
	}
	byOp := map[string]map[string]bool{}
	for i := range event.Catalog {
		for _, symbol := range event.Catalog[i].SymbolNames() {
			if found := all[symbol]; len(found) > 0 {
				if byOp[event.Catalog[i].Name] == nil {
					byOp[event.Catalog[i].Name] = map[string]bool{}
				}
				for stack := range found {
					byOp[event.Catalog[i].Name][renamed(stack, isLoop)] = true
				}
			}
		}
	}
	return byOp
}

func renamed(stack string, isLoop func(frame string) bool) string {
	if isLoop == nil {
		return stack
	}
	frames := strings.Fields(stack)
	for i, f := range frames {
		if isLoop(f) {
			frames[i] = python
		}
	}
	return strings.Join(frames, " ")
}

// PythonLoop returns a function that tells which frames are an interpreter's loop.
func PythonLoop(t *testing.T, interpreter string) func(frame string) bool {
	t.Helper()
	mapped, err := exec.CommandContext(t.Context(), interpreter, "-c", "print(open('/proc/self/maps').read())").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mapped)) {
		_, path, _ := strings.Cut(strings.TrimSpace(line), "/")
		f, err := elf.Open("/" + path)
		if err != nil {
			continue // neither a program nor a library
		}
		symbols, err := f.DynamicSymbols()
		_ = f.Close() // only read
		if err != nil {
			continue // it has no such symbol
		}
		for _, s := range symbols {
			if s.Name == "_PyEval_EvalFrameDefault" && s.Value != 0 {
				prefix := filepath.Base(path) + "+0x"
				return func(frame string) bool {
					at, ok := strings.CutPrefix(frame, prefix)
					v, err := strconv.ParseUint(at, 16, 64)
					return ok && err == nil && v > s.Value && v <= s.Value+s.Size
				}
			}
		}
	}
	t.Fatalf("%s maps no file that exports _PyEval_EvalFrameDefault", interpreter)
	return nil
}

// StackCounts are how many of a recording's calls with a stack, and of its different stacks, are
// the same as the program's own.
type StackCounts struct {
	Calls, SameCalls, Stacks, SameStacks int64
	LinesOnly                            int64 // calls with Python lines only: their native stack was dropped
}

// CompareStacks compares the recorded stacks with those that the program unwound itself: the same
// callers, each by its file and the address in it. Python lines stand for the loop that runs them.
// It logs some that differ.
func CompareStacks(t *testing.T, db string, own map[string]map[string]bool) (c StackCounts) {
	t.Helper()
	recorded := recordedStacks(t, db)
	logged := 0
	q, err := sqlite.Query(t.Context(), db,
		"select op, stack_hash, count(*) from calls where stack_hash <> 0 and depth = 0 group by 1, 2", store.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	for q.Next() {
		v := q.Values()
		op, stack, n := fmt.Sprint(v[0]), recorded[fmt.Sprint(v[1])], v[2].(int64)
		if stack == python {
			c.LinesOnly += n
			continue
		}
		c.Calls, c.Stacks = c.Calls+n, c.Stacks+1
		if own[op][stack] {
			c.SameCalls, c.SameStacks = c.SameCalls+n, c.SameStacks+1
		} else if logged++; logged <= 5 {
			t.Logf("%d calls of %s differ:\n%s", n, op, difference(stack, own[op]))
		}
	}
	if err := q.Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

// recordedStacks are the callers of each stack, by its hash, in the form of OwnStacks.
func recordedStacks(t *testing.T, db string) map[string]string {
	t.Helper()
	q, err := sqlite.Query(t.Context(), db, "select stack_hash, kind, module, coalesce(offset, 0) from stack_frames "+
		"order by stack_hash, depth", store.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	frames := map[string][]string{}
	for q.Next() {
		v := q.Values()
		hash, module, offset := fmt.Sprint(v[0]), v[2].(string), v[3].(int64)
		if v[1] == "python" {
			if f := frames[hash]; len(f) == 0 || f[len(f)-1] != python {
				frames[hash] = append(f, python)
			}
			continue
		}
		if module == "" {
			offset = 0
		}
		frames[hash] = append(frames[hash], fmt.Sprintf("%s+%#x", module, offset))
	}
	if err := q.Err(); err != nil {
		t.Fatal(err)
	}
	stacks := map[string]string{}
	for hash, f := range frames {
		stacks[hash] = strings.Join(f, " ")
	}
	return stacks
}

// difference shows a stack next to the program's own stack with the longest common part.
func difference(stack string, own map[string]bool) string {
	got, best, most := strings.Fields(stack), []string(nil), -1
	for s := range own {
		f := strings.Fields(s)
		n := 0
		for n < min(len(f), len(got)) && f[n] == got[n] {
			n++
		}
		if n > most {
			best, most = f, n
		}
	}
	most = max(most, 0)
	return fmt.Sprintf("the same up to %d of %d, then %v; the program itself finds %d, then %v",
		most, len(got), got[most:], len(best), best[min(most, len(best)):])
}

// WantStacks fails the test unless at least 99 of 100 calls with a stack have the right one, and no
// more calls lack their stack than the recording reports as dropped.
func (c StackCounts) WantStacks(t *testing.T, losses []event.Loss) {
	t.Helper()
	t.Logf("%d of %d calls with a stack, %d of %d different stacks, are as the program itself finds them",
		c.SameCalls, c.Calls, c.SameStacks, c.Stacks)
	if c.Calls < 100 || float64(c.SameCalls) < 0.99*float64(c.Calls) {
		t.Errorf("%d of %d calls have the right stack, want 99 %%", c.SameCalls, c.Calls)
	}
	var lost int64
	for _, l := range losses {
		if l.Kind == event.LostStack {
			lost += int64(l.Count)
		}
	}
	if c.LinesOnly > lost {
		t.Errorf("%d calls have lines of Python only, and %d stacks are told to be lost", c.LinesOnly, lost)
	}
}
