package nvtx_test

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/all"
	"github.com/ingero-io/ingero/capture/probe/nvtx"
	"github.com/ingero-io/ingero/capture/probe/probetest"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// caller is a program that does what it reads, and says when it has.
type caller struct {
	t      *testing.T
	tracer *probe.Tracer
	pid    int
	do     func(what string) probe.Records
}

// start builds libnvToolsExt and the program of testdata, and attaches a tracer to its libraries.
func start(t *testing.T) *caller {
	t.Helper()
	kerneltest.Require(t)
	dir := t.TempDir()
	files, err := cudastub.Extract(dir)
	if err != nil {
		t.Fatal(err)
	}
	const name = "libnvToolsExt.so.1"
	lib, program := filepath.Join(dir, name), filepath.Join(dir, "caller")
	kerneltest.GCC(t, "-o", lib, "testdata/library.c", "-fPIC", "-shared", "-Wl,-soname,"+name)
	kerneltest.GCC(t, "-o", program, "testdata/caller.c", "-pthread", lib,
		filepath.Join(files.LibDir, "libcudart.so.12"), "-Wl,-rpath,"+dir+":"+files.LibDir)
	tr := probetest.Open(t, probe.Options{Backend: probe.Backend(kerneltest.Backend())})
	for _, l := range all.Libraries() {
		for _, path := range []string{lib, filepath.Join(files.LibDir, "libcudart.so.12")} {
			if !l.File.MatchString(filepath.Base(path)) {
				continue
			}
			if _, err := tr.Attach(l, path, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.Command(program)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	said := bufio.NewScanner(out)
	c := &caller{t: t, tracer: tr, pid: cmd.Process.Pid}
	c.do = func(what string) (r probe.Records) {
		t.Helper()
		fmt.Fprintln(in, what)
		if !said.Scan() || said.Text() != what {
			t.Fatalf("the program says %q (%v), want %q", said.Text(), said.Err(), what)
		}
		tr.Drain(&r, 1<<30)
		if r.Malformed > 0 {
			t.Fatalf("%d records that cannot be read", r.Malformed)
		}
		return r
	}
	c.do("ready")
	if err := tr.Adopt(c.pid); err != nil {
		t.Fatal(err)
	}
	return c
}

// lost fails the test if a record is missing.
func (c *caller) lost() {
	c.t.Helper()
	n, err := c.tracer.Losses()
	if err != nil {
		c.t.Fatal(err)
	}
	for k, v := range n {
		if kind := event.LossKind(k); v > 0 && (kind == event.LostMark || kind.Counts()) {
			c.t.Errorf("lost %d %s", v, kind)
		}
	}
}

func (c *caller) mark(op string, m event.Mark) event.Mark {
	i, ok := event.ByName(op)
	if !ok {
		c.t.Fatalf("no operation %s", op)
	}
	m.Op, m.Thread = i.Op, event.Thread{PID: uint32(c.pid), TID: uint32(c.pid)}
	return m
}

// Each function is recorded once a call, with its domain, message and answer, and as no call. What
// each is called with is in testdata/caller.c, what it answers in testdata/library.c.
func TestEveryFunctionIsRecordedAsAMark(t *testing.T) {
	c := start(t)
	r := c.do("each")
	const domain, id = 0xd0, 0x100000007 // as no int has it
	want := []event.Mark{
		c.mark("nvtxMarkA", event.Mark{Text: "moment"}),
		c.mark("nvtxMarkW", event.Mark{Text: "wide äöü ∑"}),
		c.mark("nvtxMarkEx", event.Mark{Text: "moment ex", Category: 41}),
		c.mark("nvtxRangePushA", event.Mark{Text: "step 1", Level: 0}),
		c.mark("nvtxRangePushW", event.Mark{Text: "wide step", Level: 1}),
		c.mark("nvtxRangePushEx", event.Mark{Text: "step ex", Category: 42, Level: 2}),
		c.mark("nvtxRangePop", event.Mark{Level: 2}),
		c.mark("nvtxRangePop", event.Mark{Level: 1}),
		c.mark("nvtxRangePop", event.Mark{Level: 0}),
		c.mark("nvtxRangePop", event.Mark{Level: -1}), // nothing is left: an error code of NVTX
		c.mark("nvtxRangeStartA", event.Mark{Text: "epoch", Range: id}),
		c.mark("nvtxRangeStartW", event.Mark{Text: "wide epoch", Range: id + 1}),
		c.mark("nvtxRangeStartEx", event.Mark{Text: "epoch ex", Category: 43, Range: id + 2}),
		c.mark("nvtxRangeEnd", event.Mark{Range: id + 1}),
		c.mark("nvtxDomainMarkEx", event.Mark{Text: "in", Category: 44, Domain: domain}),
		c.mark("nvtxDomainRangePushEx", event.Mark{Text: "wide in", Category: 45, Domain: domain}),
		c.mark("nvtxDomainRangePop", event.Mark{Domain: domain}),
		c.mark("nvtxDomainRangeStartEx", event.Mark{
			Handle: true, Message: 0xabc, Category: 46, Domain: domain, Range: id + 3,
		}),
		c.mark("nvtxDomainRangeEnd", event.Mark{Domain: domain, Range: id + 3}),
	}
	got := r.Marks
	seen := map[event.Op]bool{}
	for i := range got {
		m := &got[i]
		seen[m.Op] = true
		if m.Start == 0 || m.Duration == 0 || m.Duration > uint64(time.Second) || i > 0 && m.Start < got[i-1].End() {
			t.Errorf("%s: %d for %d, after %d", m.Op, m.Start, m.Duration, got[max(i-1, 0)].End())
		}
		if m.Text != "" && m.Message == 0 {
			t.Errorf("%s: a text without a place", m.Op)
		}
		if !m.Handle {
			m.Message = 0
		}
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(event.Mark{}, "Start", "Duration")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, i := range nvtx.Library().Ops {
		if !seen[i.Op] {
			t.Errorf("no %s", i.Name)
		}
	}
	if len(r.Calls) != 0 || len(r.Gaps) != 0 {
		t.Errorf("%d calls and %d gaps of a thread that only marks", len(r.Calls), len(r.Gaps))
	}
	for _, l := range r.Lives {
		if l.Kind == event.LifeFirst {
			t.Errorf("a mark is reported as the first call: %+v", l)
		}
	}
	c.lost()
}

// A text is cut off, and what cannot be read or is missing is no text.
func TestTextsOfMarksAreBounded(t *testing.T) {
	c := start(t)
	got := c.do("texts").Marks
	long := "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789" +
		"01234567890123456789012345"
	want := []string{long + "6", "", "", "", long, "0123456789" + "0123456789" + "0123456789" + "01", "a\ufffdb"}
	if len(got) != len(want) {
		t.Fatalf("%d marks, want %d", len(got), len(want))
	}
	for i, w := range want {
		if got[i].Text != w {
			t.Errorf("text %d is %q, want %q", i, got[i].Text, w)
		}
	}
	c.lost()
}

// The time between two calls is one gap, whatever was marked meanwhile, and its waits are of it alone.
func TestAMarkEndsNoGapBetweenCalls(t *testing.T) {
	c := start(t)
	r := c.do("gap")
	if len(r.Calls) != 2 || len(r.Marks) != 3 || len(r.Gaps) != 1 {
		t.Fatalf("%d calls, %d marks, %d gaps, want 2, 3 and 1", len(r.Calls), len(r.Marks), len(r.Gaps))
	}
	g, next := r.Gaps[0], r.Calls[1]
	if g.Start-r.Calls[0].End() > uint64(time.Millisecond) || g.Start+g.Duration != next.Start || g.Next != next.Op {
		t.Errorf("gap %+v between %+v and %+v", g, r.Calls[0], next)
	}
	if slept := g.Ledger.NS[event.Sleep]; slept < 6e6 || slept > g.Duration {
		t.Errorf("slept %d ns of %d, the program 8 ms", slept, g.Duration)
	}
	for _, o := range r.OffCPU {
		if o.Op.Mark() != 0 {
			t.Errorf("a wait is said to be in a mark: %+v", o)
		}
	}
	c.lost()
}

// A thread that only marks hands the GPU nothing, before it does.
func TestAThreadThatOnlyMarksDispatchesNothing(t *testing.T) {
	c := start(t)
	r := c.do("thread")
	firsts := map[string]int{}
	for _, l := range r.Lives {
		if l.Kind == event.LifeFirst {
			firsts[l.Op.String()]++
		}
	}
	if d := cmp.Diff(map[string]int{"cudaStreamSynchronize": 1}, firsts); d != "" || len(r.Marks) != 200 {
		t.Errorf("%d marks, want 200; first calls (-want +got):\n%s", len(r.Marks), d)
	}
	dispatch := map[uint32]bool{}
	for _, o := range r.OffCPU {
		dispatch[o.TID] = dispatch[o.TID] || o.Dispatch
	}
	marking, calling := r.Marks[0].TID, r.Calls[0].TID
	if on, ok := dispatch[marking]; on || !ok {
		t.Errorf("the thread that marks dispatches: %v, was seen to wait: %v", on, ok)
	}
	if !dispatch[calling] || marking == calling {
		t.Errorf("thread %d marks; %d calls, and dispatches: %v", marking, calling, dispatch[calling])
	}
	c.lost()
}
