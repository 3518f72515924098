package probe_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/all"
	"github.com/ingero-io/ingero/capture/probe/probetest"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// bench is a tracer attached to a victim that serves commands.
type bench struct {
	t       *testing.T
	tracer  *probe.Tracer
	victim  *cudastub.Victim
	libDir  string // where the libraries are
	records probe.Records

	attached []*probe.Attachment
}

func newBench(t *testing.T, opts probe.Options, v cudastub.Options, pidLink bool) *bench {
	t.Helper()
	kerneltest.Require(t)
	if opts.Backend == "" {
		opts.Backend = probe.Backend(kerneltest.Backend())
	}
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tr := probetest.Open(t, opts)
	victim, err := files.Start(context.Background(), v)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := victim.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := victim.Do("pid"); err != nil { // now its exec is over: it is a process from before Adopt
		t.Fatal(err)
	}
	dir := v.LibDir
	if dir == "" {
		dir = files.LibDir
	}
	b := &bench{t: t, tracer: tr, victim: victim, libDir: dir}
	pid := 0
	if pidLink {
		pid = victim.PID()
	}
	for _, file := range []string{"libcudart.so.12", "libcuda.so.1"} {
		b.attached = append(b.attached, attachAll(t, tr, filepath.Join(dir, file), pid)...)
	}
	if err := tr.Adopt(victim.PID()); err != nil {
		t.Fatal(err)
	}
	return b
}

// attachAll attaches every probe that is for the file.
func attachAll(t *testing.T, tr *probe.Tracer, path string, pid int) (list []*probe.Attachment) {
	t.Helper()
	for _, lib := range all.Libraries() {
		if !lib.File.MatchString(filepath.Base(path)) {
			continue
		}
		a, err := tr.Attach(lib, path, pid)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	return list
}

// do runs a command and returns its answer and the records it made.
func (b *bench) do(format string, args ...any) (cudastub.Answer, *probe.Records) {
	b.t.Helper()
	a, err := b.victim.Do(fmt.Sprintf(format, args...))
	if err != nil {
		b.t.Fatal(err)
	}
	b.records.Reset()
	b.tracer.Drain(&b.records, 1<<30)
	if b.records.Malformed > 0 {
		b.t.Fatalf("%d malformed records", b.records.Malformed)
	}
	return a, &b.records
}

// lost fails the test unless exactly the given losses were counted. Losses that
// leave every record in place are the kernel's, not ours.
func (b *bench) lost(want map[event.LossKind]uint64) {
	b.t.Helper()
	n, err := b.tracer.Losses()
	if err != nil {
		b.t.Fatal(err)
	}
	for k, v := range n {
		if event.Losses[k].Approximate {
			continue
		}
		if v != want[event.LossKind(k)] {
			b.t.Errorf("lost %d %s, want %d", v, event.LossKind(k), want[event.LossKind(k)])
		}
	}
}

// maps is what the victim has mapped.
func (b *bench) maps() string {
	b.t.Helper()
	mapped, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", b.victim.PID()))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(mapped)
}

// eachBackend runs f with each of the back ends. Tests that use it have it in their names: "make test-e2e" runs these
// without -short.
func eachBackend(t *testing.T, f func(t *testing.T, b probe.Backend)) {
	if !strings.HasSuffix(t.Name(), "OnEveryBackend") {
		t.Fatal("its name has to end in OnEveryBackend")
	}
	eachOf(t, probe.Backends, f)
}

// eachOf runs f with each of the back ends, or with the one that is asked for.
func eachOf(t *testing.T, backends []probe.Backend, f func(t *testing.T, b probe.Backend)) {
	if b := kerneltest.Backend(); b != "" {
		backends = []probe.Backend{probe.Backend(b)}
	}
	if testing.Short() { // each probe's perf event takes a while to end: half a minute a test
		backends = slices.DeleteFunc(slices.Clone(backends), func(b probe.Backend) bool { return b == probe.BackendPerf })
	}
	for _, b := range backends {
		t.Run(string(b), func(t *testing.T) { f(t, b) })
	}
}

func TestEveryOperationIsTimedOnEveryBackend(t *testing.T) {
	eachBackend(t, func(t *testing.T, backend probe.Backend) {
		b := newBench(t, probe.Options{Backend: backend}, cudastub.Options{}, false)
		exported := functions(t, filepath.Join(b.libDir, "libcudart.so.12"))
		maps.Copy(exported, functions(t, filepath.Join(b.libDir, "libcuda.so.1")))
		for _, info := range event.Catalog {
			if !info.Op.Source().Called() {
				continue
			}
			for _, symbol := range info.SymbolNames() {
				if exported[symbol] == 0 { // the stand-ins have none; those of NCCL are tested in capture/probe/nccl
					continue
				}
				want := 7
				if backend == probe.BackendPerf && info.Seldom { // it leaves those out
					want = 0
				}
				a, r := b.do("call %s 7", symbol)
				if len(r.Calls) != want || a.Int("calls") != 7 {
					t.Errorf("%s: victim made %d calls, %d recorded", symbol, a.Int("calls"), len(r.Calls))
				}
				for _, c := range r.Calls {
					if c.Op != info.Op || c.PID != uint32(b.victim.PID()) || c.Depth != 0 || c.Ret != 0 {
						t.Fatalf("%s: recorded %+v", symbol, c)
					}
					if at := c.Args[event.SiteArg]; c.Op.TellsSite() && fileAt(t, b.maps(), at) != "victim" {
						t.Fatalf("%s was called from %#x in %s, want victim", symbol, at, fileAt(t, b.maps(), at))
					}
				}
			}
		}
		b.lost(nil)
	})
}

// Each wait says from where it was made. The stand-in's program makes its runtime calls from one
// place and the library its driver calls from another.
func TestWaitsHaveTheirCallSites(t *testing.T) {
	eachFast(t, func(t *testing.T, backend probe.Backend) {
		b := newBench(t, probe.Options{Backend: backend}, cudastub.Options{}, false)
		b.do("set cudaStreamSynchronize:nested")
		_, r := b.do("call cudaStreamSynchronize 20 stream=0x77")
		n := map[string]int{}
		sites := map[uint64]bool{}
		for _, c := range r.Calls {
			if !c.Op.TellsSite() {
				continue
			}
			n[c.Op.String()+" from "+fileAt(t, b.maps(), c.Args[event.SiteArg])]++
			sites[c.Args[event.SiteArg]] = true
		}
		want := map[string]int{"cudaStreamSynchronize from victim": 20, "cuStreamSynchronize from libcudart": 20}
		if d := cmp.Diff(want, n); d != "" || len(sites) != 2 {
			t.Errorf("%d places, want 2 (-want +got):\n%s", len(sites), d)
		}
	})
}

// fileAt is the name, up to the first dot, of the file that is mapped executable at an address.
func fileAt(t *testing.T, mapped string, addr uint64) string {
	t.Helper()
	for line := range strings.Lines(mapped) {
		var from, to uint64
		var perm string
		f := strings.Fields(line)
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &perm); n == 3 && addr >= from && addr < to &&
			strings.Contains(perm, "x") && len(f) == 6 {
			name, _, _ := strings.Cut(filepath.Base(f[5]), ".")
			return name
		}
	}
	return fmt.Sprintf("%#x", addr)
}

func TestDurationsAgreeWithTheCallersClock(t *testing.T) {
	b := newBench(t, probe.Options{}, cudastub.Options{}, false)
	b.do("set cudaLaunchKernel:spin=20us")
	a, r := b.do("call cudaLaunchKernel 2001")
	ds := make([]uint64, 0, len(r.Calls))
	for _, c := range r.Calls {
		ds = append(ds, c.Duration)
	}
	got := stats.Upper(ds)
	want := uint64(a.Int("p50_ns"))
	t.Logf("victim's median %d ns, recorded %d ns", want, got)
	if diff := max(got, want) - min(got, want); diff > uint64(5*time.Microsecond) {
		t.Errorf("medians differ by %d ns", diff)
	}
}
