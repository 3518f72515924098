package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	zombie "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

func TestWhatCannotBeMerged(t *testing.T) {
	t.Parallel()
	a := recordingOf(t, "one", store.Session{Boot: "x", PID: 9}, batchFrom(t))
	b := recordingOf(t, "two", store.Session{Boot: "y", PID: 9}, batchFrom(t))
	same := recordingOf(t, "one", store.Session{Boot: "x", PID: 10}, batchFrom(t))
	unknown := recordingOf(t, "one", store.Session{PID: 11}, batchFrom(t))
	unknown2 := recordingOf(t, "one", store.Session{Host: "other", PID: 11}, batchFrom(t))
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		p := filepath.Join(dir, name)
		must(t, os.WriteFile(p, content, 0o644))
		return p
	}
	content, err := os.ReadFile(a)
	must(t, err)
	copied := file("copy.db", content)
	torn := file("torn.db", content[:len(content)/2])
	text := file("text.db", []byte("no database at all"))
	scribbled := slices.Clone(content)
	for i := 40_000; i < len(scribbled)-40_000; i++ {
		scribbled[i] ^= 0x5a
	}
	damaged := file("damaged.db", scribbled)
	newer := file("newer.db", content)
	makeDB(t, newer, "pragma user_version = 9999")
	nameless := file("nameless.db", content)
	makeDB(t, nameless, "update session set node = ''")
	link := filepath.Join(dir, "link.db")
	must(t, os.Symlink(a, link))
	out := filepath.Join(dir, "out", "merged.db")
	must(t, os.Mkdir(filepath.Dir(out), 0o755))
	for _, c := range []struct {
		name  string
		paths []string
		is    error
		says  []string
	}{
		{"one", []string{a}, sqlite.ErrMerge, []string{"one recording only"}},
		{"twice", []string{a, b, a}, sqlite.ErrMerge, []string{"the same file"}},
		{"link", []string{a, link}, sqlite.ErrMerge, []string{"the same file"}},
		{"copy", []string{a, copied}, sqlite.ErrMerge, []string{"hold the same recording", "one since", "copy.db"}},
		{"no such file", []string{a, filepath.Join(dir, "nothing.db")}, store.ErrNotFound, []string{"nothing.db"}},
		{"text", []string{a, text}, store.ErrForeign, []string{"text.db"}},
		{"torn", []string{b, torn}, store.ErrCorrupt, []string{"torn.db", "cut short"}},
		{"damaged", []string{b, damaged}, store.ErrCorrupt, []string{"damaged.db"}},
		{"newer", []string{b, newer}, store.ErrNewer, []string{"newer.db", "update Ingero"}},
		{"earlier", []string{b, legacy(t, "0.8")}, sqlite.ErrMerge, []string{"Ingero 0.x", "ingero explain"}},
		{"nameless", []string{b, nameless}, sqlite.ErrMerge, []string{"--force-node NAME=" + nameless}},
		{"calls twice", []string{a, same}, sqlite.ErrMerge, []string{"recorded the calls of process", "count twice"}},
		{
			"perhaps another machine",
			[]string{unknown, unknown2},
			sqlite.ErrMerge,
			[]string{"if these are two machines", "--force-node NAME="},
		},
		{"folder", []string{a, dir}, store.ErrForeign, []string{"directory"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var in []sqlite.MergeInput
			for _, p := range c.paths {
				in = append(in, sqlite.MergeInput{Path: p})
			}
			_, err := sqlite.Merge(t.Context(), out, in, sqlite.MergeOptions{})
			checkError(t, err, c.is, c.says)
			if left := listing(t, filepath.Dir(out)); len(left) != 0 {
				t.Errorf("left %v", left)
			}
		})
	}
	t.Run("output", func(t *testing.T) {
		in := []sqlite.MergeInput{{Path: a}, {Path: b}}
		_, err := sqlite.Merge(t.Context(), b, in, sqlite.MergeOptions{Overwrite: true})
		checkError(t, err, sqlite.ErrMerge, []string{"read and written"})
		_, err = sqlite.Merge(t.Context(), copied, in, sqlite.MergeOptions{})
		checkError(t, err, sqlite.ErrMerge, []string{"exists"})
		_, err = sqlite.Merge(t.Context(), filepath.Join(dir, "no", "such.db"), in, sqlite.MergeOptions{})
		checkError(t, err, os.ErrNotExist, []string{"such.db"})
		_, err = sqlite.Merge(t.Context(), copied, in, sqlite.MergeOptions{Overwrite: true})
		must(t, err)
		check(t, copied)
	})
	t.Run("stopped", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		steps := 0
		o := sqlite.MergeOptions{Progress: func(string, int64, int64) {
			if steps++; steps == 40 {
				stop()
			}
		}}
		if _, err := sqlite.Merge(ctx, out, []sqlite.MergeInput{{Path: a}, {Path: b}}, o); !errors.Is(err,
			context.Canceled) || steps != 40 {
			t.Errorf("stopped after %d steps: %v", steps, err)
		}
		if left := listing(t, filepath.Dir(out)); len(left) != 0 {
			t.Errorf("left %v", left)
		}
	})
}

// Ids that refer to nothing refer to nothing afterwards, and to nobody else's rows.
func TestMergingHostileRecordings(t *testing.T) {
	t.Parallel()
	a := recordingOf(t, "one", store.Session{Boot: "x"}, batchFrom(t))
	b := recordingOf(t, "two", store.Session{Boot: "y"}, batchFrom(t))
	third := recordingOf(t, "three", store.Session{Boot: "z"}, batchFrom(t))
	makeDB(t, b, `update call set thread = 1000000 where ts = (select min(ts) from call);
		update call set thread = -5 where ts = (select max(ts) from call);
		update call set args = 424242, stack = -1 where ts = (select max(ts) from call);
		update interval set waker = 9223372036854775807 where waker is not null;
		insert or replace into thread_time (ts, thread) values (9223372036854775806, 1), (-4, 2);
		update causal_chains set id = ''`)
	out, _ := merge(t, a, b, third)
	lost := query(t, out, "select count(*) from call c left join thread t on t.id = c.thread where t.id is null")
	if lost[0][0] != int64(2) {
		t.Errorf("%v calls of nobody, 2 of them are", lost)
	}
	for name, path := range map[string]string{"one": a, "three": third} {
		n := query(t, path, "select count(*) from cuda_events")[0][0]
		if got := query(t, out, "select count(*) from cuda_events where node = '"+name+"'")[0][0]; got != n {
			t.Errorf("%v calls of %s, %v were recorded", got, name, n)
		}
	}
	// Ids so large that there is no room behind them.
	makeDB(t, b, fmt.Sprintf("insert into thread values (%d, 1, 1, 1, '', 0, null, null)", math.MaxInt64))
	_, err := sqlite.Merge(t.Context(), filepath.Join(t.TempDir(), "m.db"), []sqlite.MergeInput{{Path: a}, {Path: b}},
		sqlite.MergeOptions{})
	checkError(t, err, sqlite.ErrMerge, []string{"two.db", "thread"})
}

// Every table is carried, also those that nobody has thought of here.
func TestEveryTableIsMerged(t *testing.T) {
	t.Parallel()
	fill := func(path string, n int) {
		c, err := zombie.OpenConn(path, zombie.OpenReadWrite)
		must(t, err)
		defer c.Close()
		must(t, sqlitex.ExecuteScript(c, fillScript(t, path, n), nil))
	}
	a, b := recordingOf(t, "one", store.Session{Boot: "x"}, &store.Batch{}),
		recordingOf(t, "two", store.Session{Boot: "y"}, &store.Batch{})
	fill(a, 10)
	fill(b, 20)
	out, _ := merge(t, a, b)
	inA, inB, inOut := counting(t, a), counting(t, b), counting(t, out)
	for _, row := range query(t, out, "select name from sqlite_schema where type = 'table' and name not like "+
		"'%\\_name' escape '\\' and name not in ('meta', 'tally')") {
		name := row[0].(string)
		x, y, z := inA(name), inB(name), inOut(name)
		if x == 0 || y == 0 || z != x+y {
			t.Errorf("table %s: %d and %d rows became %d", name, x, y, z)
		}
	}
}

// fillScript puts rows whose numbers are all from n to n + 2 into every table.
func fillScript(t testing.TB, path string, n int) string {
	t.Helper()
	var b strings.Builder
	tables := query(t, path,
		`select t.name, group_concat(case c.type when 'TEXT' then '''text' || '%[1]d''' when 'BLOB' then 'x''00''' else '%[1]d' end, ', ')
		from sqlite_schema t join pragma_table_info(t.name) c where t.type = 'table' and t.name not like '%\_name' escape '\' and t.name <> 'meta' group by t.name order by t.name, c.cid`)
	for _, row := range tables {
		for i := range 3 {
			fmt.Fprintf(&b, "insert or ignore into %s values (%s);\n", row[0],
				strings.ReplaceAll(row[1].(string), "%[1]d", fmt.Sprint(n+i)))
		}
	}
	return b.String()
}

// What two machines have at the same addresses may be different things.
func TestStacksAreMergedByContent(t *testing.T) {
	t.Parallel()
	stack := func(symbol string) *store.Batch {
		b := &store.Batch{Stacks: []event.Stack{
			{ID: 5, PID: 7, Frames: []event.Frame{{Kind: event.FrameNative, Addr: 0x1000, Symbol: symbol, Module: "prog"}}},
			{ID: 6, PID: 7, Frames: []event.Frame{{
				Kind: event.FrameNative, Addr: 0x2000, Symbol: "main", Module: "prog",
				BuildID: "ab",
			}}, Cut: true},
		}}
		for i, id := range []uint64{5, 6} {
			b.Calls = append(b.Calls, event.Call{
				Start: t0 + uint64(i), Duration: 10, Thread: event.Thread{PID: 7, TID: 7},
				Op: opOf(t, "cudaLaunchKernel"), GPU: event.NoGPU, Stack: id,
			})
		}
		return b
	}
	a := recordingOf(t, "one", store.Session{}, stack("f"))
	other := recordingOf(t, "two", store.Session{}, stack("g"))
	bare := recordingOf(t, "three", store.Session{}, stack(""))
	for _, order := range [][]string{{a, other, bare}, {bare, a, other}} {
		out, _ := merge(t, order...)
		got := query(t, out,
			`select c.node, group_concat(f.symbol || f.build_id) from (select * from calls order by id) c join stack_frames f on f.stack_hash = c.stack_hash group by c.node order by c.node`)
		if fmt.Sprint(got) != "[[one f,mainab] [three f,mainab] [two g,mainab]]" {
			t.Errorf("stacks by node: %v", got)
		}
		if n := query(t, out, "select count(*), count(distinct hash) from stack_traces"); fmt.Sprint(n) != "[[3 3]]" {
			t.Errorf("stacks: %v", n)
		}
	}
}
