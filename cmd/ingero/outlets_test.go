package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/lib/plain"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// attack is a text that others choose: it sets a terminal's title, clears it, forges a line, and turns text round.
const attack = "x\x1b]0;owned\a\x1b[2J\r\n[HIGH] forged\x9b\u009b\u202e\u2066\x7f\xff"

const attackedFrom = uint64(1_700_000_000_000_000_000)

// attacked is a recording in which all texts are attacks.
func attacked(t *testing.T, path string) {
	t.Helper()
	now := attackedFrom
	w, err := storetest.OpenWriter(path, sqlite.Options{
		Session: store.Session{
			Node: attack, Host: attack, Kernel: attack, Version: attack, Flags: attack, Started: attackedFrom, Arch: "amd64",
		},
		Now: func() time.Time { return time.Unix(0, int64(now)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	main := event.Thread{PID: 100, TID: 100}
	hog := event.Thread{PID: 200, TID: 200}
	b := &store.Batch{}
	for _, th := range []event.Thread{main, hog} {
		b.Processes = append(b.Processes, store.Process{
			PID: th.PID, Name: attack, Command: attack, Cgroup: "/" + attack, Rank: -1, LocalRank: -1, WorldSize: -1,
			Traced: th == main,
		})
		b.Threads = append(b.Threads, store.ThreadInfo{Thread: th, Comm: attack, Dispatch: th == main})
	}
	info, _ := event.ByName("cudaLaunchKernel")
	b.Files = []event.File{{PID: 100, Inode: 4242, Path: "/data/" + attack}}
	b.Kernels = []store.Kernel{{PID: 100, Func: 0x401000, Name: attack}}
	b.Libraries = []store.Library{{At: attackedFrom, PID: 100, Name: "libcudart.so.12", Path: "/lib/" + attack, Version: attack}}
	b.Labels = []event.Label{{Arrived: attackedFrom + 1e9, Since: attackedFrom + 1e9, PID: 100, Key: "epoch", Value: attack}}
	b.Stacks = []event.Stack{{ID: 7, PID: 100, Frames: []event.Frame{
		{Kind: event.FrameNative, Addr: 1, Symbol: attack, File: attack, Module: attack},
	}}}
	at := attackedFrom + 1e9
	for i := range 300 {
		b.Calls = append(b.Calls, event.Call{
			Start: at, Duration: 5e3, Thread: main, Op: info.Op, GPU: event.NoGPU,
			Args: [event.NumArgs]uint64{0x401000}, Stack: 7,
		})
		at += 5e3
		off := event.OffCPU{
			Start: at, Duration: 3e6, Thread: main, Comm: attack, Class: event.BlockIO, Inode: 4242, Syscall: 0,
			WakerSyscall: -1, Dispatch: true,
		}
		if i%2 == 0 {
			off.Class, off.RunQueue, off.Inode, off.Syscall = event.RunQueue, 3e6, 0, -1
			off.Culprits = []event.Culprit{{Thread: hog, Comm: attack, NS: 3e6}}
		}
		b.OffCPU = append(b.OffCPU, off)
		g := event.Gap{Start: at, Duration: 3.1e6, Thread: main, Next: info.Op}
		g.Ledger.NS[off.Class], g.Ledger.Voluntary = 3e6, 1
		b.Gaps = append(b.Gaps, g)
		at += 3.1e6
	}
	err = w.Write(b)
	now = at
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// shownBy is a command line that shows what is recorded. R is the recording, O a file to be written.
type shownBy struct {
	line  string
	bytes bool // data that keeps all bytes, such as CSV in a file
}

var outlets = []shownBy{
	{line: "explain --db R"},
	{line: "explain --db R --json"},
	{line: "explain --db R --per-process"},
	{line: "explain --db R --brief"},
	{line: "explain --db R --by epoch"},
	{line: "explain --db R --pid 7"},
	{line: "compare R R"},
	{line: "compare R R --json"},
	{line: "query --db R select * from events limit 50"},
	{line: "query --db R select * from processes"},
	{line: "query --db R --format json select * from processes"},
	{line: "query --db R --format csv select * from processes", bytes: true},
	{line: "query --db R select nosuch\x1b[2J from events"},
	{line: "export --db R --format perfetto --output O"},
	{line: "merge --output O R"},
	{line: "nosuch\x1b[2J"},
	{line: "explain --nosuch\x1b[2J"},
	{line: "explain --db nosuch\x1b[2J.db"},
	{line: "fleet\x1b[2J"},
}

// unwalked are the commands that show no recording, and the tests of those that do.
var unwalked = map[string]string{
	"check": "check_test.go", "trace": "trace_test.go", "annotate": "shows nothing of others", "fleet": "shows nodes' answers by fleet.printable",
	"fleet-push": "shows counts", "mcp": "serve/mcpshape", "dashboard": "serves nodeapi's JSON", "demo": "shows its own programs",
	"bench": "shows its own programs", "version": "shows none", "completion": "shows none", "man": "shows none", "help": "shows none",
}

// Every command that shows a recording is in the list: a new one cannot be forgotten.
func TestEveryCommandIsAnOutlet(t *testing.T) {
	walked := map[string]bool{}
	for _, o := range outlets {
		walked[strings.Fields(o.line)[0]] = true
	}
	for _, c := range newRoot(&console{env: os.Getenv}).Commands() {
		if !walked[c.Name()] && unwalked[c.Name()] == "" && !c.Hidden {
			t.Errorf("command %s is in no list of outlets", c.Name())
		}
	}
}

func TestOutletsShowNoControlCharacters(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.db")
	attacked(t, path)
	for i, o := range outlets {
		args := strings.Fields(o.line)
		if n := slices.Index(args, "select"); n >= 0 {
			args = append(args[:n:n], strings.Join(args[n:], " "))
		}
		for n, a := range args {
			switch a {
			case "R":
				args[n] = path
			case "O":
				args[n] = filepath.Join(dir, fmt.Sprint(i, ".out"))
			}
		}
		out := outputOf(args)
		if out == "" {
			t.Errorf("%q shows nothing", o.line)
		}
		if o.bytes {
			if !strings.Contains(out, "\x1b]0;owned") {
				t.Errorf("%q changes the bytes: %q", o.line, out)
			}
			continue
		}
		checkOutput(t, o.line, out)
		if slices.Contains(args, "--json") && !json.Valid([]byte(out)) {
			t.Errorf("%q is no JSON: %q", o.line, out)
		}
	}
}

// outputOf runs a command line, and returns what it says on both streams.
func outputOf(args []string) string {
	var b bytes.Buffer
	c := &console{in: strings.NewReader(""), out: &b, err: &b, env: func(string) string { return "" }, now: time.Now}
	root := newRoot(c)
	root.SetArgs(knownArguments(args))
	c.program().Report(root.ExecuteContext(context.Background()))
	return b.String()
}

func checkOutput(t *testing.T, what, out string) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Errorf("%q is no UTF-8: %q", what, out)
	}
	for line := range strings.SplitSeq(out, "\n") {
		if i := strings.IndexFunc(line, func(r rune) bool { return r != '\t' && plain.Odd(r) }); i >= 0 {
			t.Errorf("%q shows %q", what, line[max(0, i-60):])
		}
		if strings.HasPrefix(line, "[HIGH] forged") {
			t.Errorf("%q shows a forged line: %q", what, line)
		}
	}
}

// To a terminal, CSV is cleaned; to a file it keeps all bytes (TestOutletsShowNoControlCharacters).
func TestCSVForATerminalIsCleaned(t *testing.T) {
	r := shown{&attackedRows{}}
	for _, text := range append(r.Columns(), r.Values()[0].(string)) {
		checkOutput(t, "csv", text)
		if strings.Contains(text, "\n") {
			t.Errorf("a cell has several lines: %q", text)
		}
	}
	if r.Values()[1] != int64(7) {
		t.Errorf("a number became %v", r.Values()[1])
	}
}

type attackedRows struct{ rowSource }

func (*attackedRows) Columns() []string { return []string{attack, "n"} }
func (*attackedRows) Values() []any     { return []any{attack, int64(7)} }
