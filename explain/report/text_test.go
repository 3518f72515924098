package report_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/explain/report"
)

var update = flag.Bool("update", false, "write what WriteText says into testdata")

func full() *report.Report {
	rank, size := 3, 8
	const t0 = 1_700_000_000_000_000_000
	return &report.Report{
		Schema: report.Schema, Node: "gpu-7", Events: 851366,
		Window:  report.Window{FromNS: t0, ToNS: t0 + 10e9, Note: "taken from the end of the data"},
		Lost:    map[string]uint64{"call": 1200, "wake": 3, "switch": 1, "gap": 0},
		Verdict: "engine lost 31 % of its time runnable while backup-agent (pid 4711) had its CPU (and 1 more)",
		Chains: []report.Chain{{
			ID: "cpu-contention-1", Severity: "HIGH",
			Summary:      "engine lost 31 % of its time runnable while backup-agent (pid 4711) had its CPU",
			ExplainedPct: 93.1, LostNS: 3_100_000_000, LostPct: 31,
			Effect: report.Effect{
				Op: "between calls", Process: "engine", PID: 100, TID: 100, Calls: 4000, SlowCalls: 870,
				P50NS: 210_000, P99NS: 3_900_000, MaxNS: 8_100_000, TailRatio: 18.6,
			},
			Cause: report.Cause{
				Kind: "cpu_contention", Process: "backup-agent", PID: 4711, TID: 4711,
				Detail: "on CPU 1, backup-agent (pid 4711) ran 2.08 s, indexer (pid 4800) ran 800 ms",
			},
			Path: []report.Step{
				{
					Layer: "HOST", Process: "engine", PID: 100, TID: 100, Thread: "engine", State: "runnable", On: "CPU 1",
					NS: 3_100_000_000,
				},
				{
					Layer: "HOST", Process: "backup-agent", PID: 4711, TID: 4711, Thread: "backup-agent", State: "running",
					On: "CPU 1", NS: 2_080_000_000,
				},
				{
					Layer: "HOST", Process: "indexer", PID: 4800, TID: 4801, Thread: "worker", State: "running", On: "CPU 1",
					NS: 800_000_000,
				},
			},
			Evidence: report.Evidence{EventIDs: []string{
				"gpu-7:1700000000000001000", "gpu-7:1700000000000002000",
				"gpu-7:1700000000000003000", "gpu-7:1700000000000004000",
			}, Sample: 870},
			Pattern: &report.Pattern{
				Kind: "periodic", Times: 21, PeriodNS: 480_000_000,
				Timeline: []float64{0, 0, 0.004, 1, 0.5, 0.25, 0, 0, 0, 0.9, 0.1, 0, 0, 0, 0, 0, 0.7, 0, 0, 0},
			},
			PerStep: &report.PerStep{LostNS: 2_950_000, Steps: 1200, Affected: 870},
			WhatIf:  &report.WhatIf{NowNS: 8_300_000, StepNS: 5_500_000, LowNS: 5_080_000, HighNS: 5_970_000, FasterBy: 50.9},
			Owners: []report.Owner{
				{
					PID: 100, Process: "engine", Text: "pod ml/train-0 container worker (containerd 1a2b3c4d5e6f)", Rank: &rank,
					WorldSize: &size, NSPID: 7,
				},
				{PID: 4711, Process: "backup-agent", Text: "unit backup.service"},
			},
			Alternatives: []report.Alternative{{
				Kind: "gpu_wait", Pct: 4.2,
				Why: "only 130 ms in the same calls, against 3.1 s",
			}},
			Counter: "GPU utilisation read 97 % meanwhile: it counts any time in which a kernel is resident",
			Recommendations: []string{
				"keep backup-agent off CPU 1: taskset -acp 0 4711",
				"or limit it by a cgroup: cpu.weight=1 or cpu.max for backup-agent, cpuset.cpus for engine",
			},
		}, {
			ID: "block-io-1", Severity: "MEDIUM", Summary: "engine lost 4.1 % of its time waiting for a lock that its thread " +
				"saver (tid 102) held while it waited for the disk",
			ExplainedPct: 88, LostNS: 410_000_000, LostPct: 4.1,
			Effect: report.Effect{
				Op: "cudaLaunchKernel", Process: "engine", PID: 100, TID: 100, Calls: 800000, SlowCalls: 14,
				P50NS: 5_030, P99NS: 7_000, MaxNS: 41_000_000, Kernel: "softmax_kernel<float>",
			},
			Cause: report.Cause{
				Kind: "block_io", Process: "engine", PID: 100, TID: 102, Thread: "saver",
				Detail: "saver waited for the disk (inode 77)",
			},
			Path: []report.Step{
				{
					Layer: "CUDA", Process: "engine", PID: 100, TID: 100, Thread: "engine", State: "blocked", On: "lock 0x7f00dead",
					NS: 410_000_000,
				},
				{
					Layer: "HOST", Process: "engine", PID: 100, TID: 102, Thread: "saver", State: "blocked", On: "block I/O",
					NS: 361_000_000,
				},
				{
					Layer: "IO", Process: "engine", PID: 100, TID: 102, Thread: "saver", State: "blocked", On: "the disk (inode 77)",
					NS: 361_000_000,
				},
			},
			Evidence: report.Evidence{Sample: 1}, Stack: []string{"save (train.py:74)", "write [libc.so.6]"},
		}, {
			ID: "memory-leak-1", Severity: "LOW", Summary: "train.py's device memory grows by 12 MB/min and is not freed: 60 " +
				"MB in 30 allocations since 22:13:20 UTC",
			ExplainedPct: 100, Effect: report.Effect{Op: "cudaMalloc", Process: "train.py", PID: 4821, TID: 4821, Calls: 5012},
			Cause: report.Cause{
				Kind: "memory_leak", Process: "train.py", PID: 4821, TID: 4821,
				Detail: "at the end 14 GB live in 206 allocations",
			},
			Path: []report.Step{{
				Layer: "CUDA", Process: "train.py", PID: 4821, TID: 4821, State: "running",
				On: "cudaMalloc without a free", NS: 400_000_000,
			}},
		}},
		NotExplained: []report.NotExplained{{
			Effect: report.Effect{
				Op: "cudaFree", Process: "engine", PID: 100, TID: 101, Calls: 90, SlowCalls: 12, P50NS: 5_000,
				P99NS: 9_000_000, MaxNS: 9_000_000,
			},
			LostNS: 400_000_000, LostPct: 4, ExplainedPct: 12,
			Why: "400 ms blocked on a lock whose holder, tid 9999, is not known",
		}},
		Workloads: []report.Workload{{
			Process: "engine", PID: 100, TID: 100, Steps: 1200, PerStep: "20 cudaLaunchKernel, " +
				"1 cudaStreamSynchronize", WarmupNS: 900_000_000, P50NS: 5_400_000, P99NS: 12_000_000, Trend: 31.4,
			MeanNS: 6_400_000, Account: []report.StepPart{
				{What: "waiting for the GPU", NS: 3_900_000, Pct: 60.9},
				{What: "on a CPU between calls", NS: 2_500_000, Pct: 39.1},
			},
		}},
		Idle: []report.Idle{{
			Process: "server", PID: 200, TID: 201, NS: 9_700_000_000, Pct: 97,
			On: "poll: no request or event came",
		}},
		Processes: []report.Process{{
			PID: 4821, Process: "train.py", Node: "gpu-7", Rank: &rank,
			Ops: []report.Op{
				{Op: "cudaMalloc", Calls: 5012, P50NS: 65_000, P99NS: 2_100_000, MaxNS: 3_000_000, Bytes: 406e9},
				{Op: "cudaFree", Calls: 4806, P50NS: 12_000, P99NS: 890_000},
				{Op: "cudaMemcpyAsync", Calls: 9, P50NS: 1_200_000, P99NS: 45_000_000, Bytes: 1500, Errors: 2},
			},
			Memory: &report.Memory{
				LiveBytes: 14e9, LiveCount: 206, PeakBytes: 15e9, Allocs: 5011, Frees: 4806, Failed: 1,
				Bytes: 406e9,
			},
			Warnings: []string{
				"malloc/free imbalance: 206 allocations without corresponding cudaFree",
				"cudaMalloc p99 (2.1ms) is 32x p50 (65µs): fragmentation pressure",
			},
		}},
	}
}

func earlier() *report.Report {
	r := healthy()
	const t0 = 1_700_000_000_000_000_000
	for i := range uint64(3) {
		r.StoredChains = append(r.StoredChains, report.StoredChain{
			ID: "chain-001", Severity: "MEDIUM", Op: "cudaLaunchKernel", AtNS: t0 + i*1e9,
			Summary: "cudaLaunchKernel p99=25.799899ms (352.5x p50) — " + []string{"34", "106", "1139"}[i] +
				" sched_switch events",
			Supported: "1 slow cudaLaunchKernel call took 25.7 ms beyond the median; " +
				"the calling thread's own off-CPU time covers 0 % of it",
		})
	}
	r.StoredChains = append(r.StoredChains, report.StoredChain{
		ID: "gpu-node-02:tail", Severity: "HIGH", Op: "cuMemAlloc", AtNS: t0, Node: "gpu-node-02",
		Summary:   "cuMemAlloc p99=51.5ms (410.6x p50) — 85 sched_switch events",
		Supported: "none of the 40 cuMemAlloc calls in the file from before it was slow: median 119 us, longest 154 us",
	})
	return r
}

// A change of the steps is reported with its parts. The first of them is in the sentence.
func TestChangesOfStepsAreReported(t *testing.T) {
	r := healthy()
	r.Changes = []report.Change{{
		AtNS: 1_700_000_000e9, Process: "trainer", BeforeNS: 1_000_000, AfterNS: 3_600_000, Node: "b", Parts: []report.ChangePart{
			{NS: 2_500_000, What: "17 instead of 1 cudaStreamSynchronize"},
			{NS: 150_000, What: "between calls: 250 us instead of 100 us"},
			{NS: -50_000, What: "all smaller parts"},
		},
	}}
	c := &r.Changes[0]
	c.Summary = c.Sentence()
	var b strings.Builder
	if err := report.WriteText(&b, r, report.TextOptions{Width: 400}); err != nil {
		t.Fatal(err)
	}
	want := "[changed] [b] trainer: from 22:13:20 UTC on a step takes 3.6 ms instead of 1 ms, 3.6 times as long, most of it: " +
		"17 instead of 1 cudaStreamSynchronize; the rest: +150 us between calls: 250 us instead of 100 us, " +
		"-50 us all smaller parts\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("got:\n%s", b.String())
	}
	c.MoreWork = "40 instead of 20 launches"
	if s := c.Sentence(); !strings.HasSuffix(s, "; it is more work, not necessarily slower: 40 instead of 20 launches") {
		t.Errorf("more work: %s", s)
	}
	c.MoreWork, c.Between, c.AfterNS = "", true, 1_500_000
	if s := c.Sentence(); !strings.HasSuffix(s, "50 % longer; the time is between calls, where it may have had less to do") {
		t.Errorf("between calls: %s", s)
	}
}

func healthy() *report.Report {
	return &report.Report{
		Verdict: "nothing wrong: 851,366 calls on 2 threads in 10 s checked; no cause took more than 0.4 % of a thread's time",
		Events:  851366, Window: report.Window{FromNS: 1_700_000_000_000_000_000, ToNS: 1_700_000_010_000_000_000},
		Lost: map[string]uint64{},
	}
}

func TestWriteText(t *testing.T) {
	for name, tc := range map[string]struct {
		r *report.Report
		o report.TextOptions
	}{
		"full":    {full(), report.TextOptions{Width: 100}},
		"narrow":  {full(), report.TextOptions{Width: 50}},
		"color":   {full(), report.TextOptions{Color: true}},
		"healthy": {healthy(), report.TextOptions{}},
		"earlier": {earlier(), report.TextOptions{}},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := report.WriteText(&b, tc.r, tc.o); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), b.String()); d != "" {
				t.Errorf("text differs (-want +got; -update writes it):\n%s", d)
			}
		})
	}
}

func TestWriteTextKeepsToTheWidth(t *testing.T) {
	r := full()
	r.Processes = nil // a table is as wide as it is
	r.StoredChains = earlier().StoredChains
	for width := 40; width < 120; width += 7 {
		var b bytes.Buffer
		if err := report.WriteText(&b, r, report.TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(b.String()) {
			l = strings.TrimSuffix(l, "\n")
			if n := utf8.RuneCountInString(l); n > width {
				t.Errorf("width %d: line of %d columns: %s", width, n, l)
			}
			if strings.Contains(l, "\x1b") {
				t.Errorf("colour although none was asked for: %q", l)
			}
		}
	}
}

func TestDuration(t *testing.T) {
	for ns, want := range map[uint64]string{
		0: "0 ns", 850: "850 ns", 1000: "1 us", 5030: "5.03 us", 12_400_000: "12.4 ms", 999_600: "1 ms",
		3_050_000_000: "3.05 s", 7_200_000_000_000: "7,200 s",
	} {
		if got := report.Duration(ns); got != want {
			t.Errorf("Duration(%d) = %q, want %q", ns, got, want)
		}
	}
}

func TestWriteTextEndsLongStacks(t *testing.T) {
	for n, last := range map[int]string{
		12: "frame 11", 13: "… 2 more (--json has them)",
		128: "… 117 more (--json has them)",
	} {
		c := report.Chain{}
		for i := range n {
			c.Stack = append(c.Stack, fmt.Sprintf("frame %d", i))
		}
		var b strings.Builder
		if err := report.WriteText(&b, &report.Report{Chains: []report.Chain{c}}, report.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		_, stack, _ := strings.Cut(b.String(), "stack  ")
		lines := strings.Split(strings.TrimSpace(stack), "\n")
		if len(lines) < 12 || lines[0] != "frame 0" || strings.TrimSpace(lines[11]) != last {
			t.Errorf("%d frames: got %q, want the last to be %q", n, lines, last)
		}
	}
}

func TestTheBriefReportNamesAPlaceInTheProgram(t *testing.T) {
	const cut = "… (its callers were not found)"
	for _, c := range []struct {
		stack []string
		want  string // empty: none
	}{
		{[]string{"cudaMalloc [libcudart.so.13]", "0x7f0000000010", "run [engine]", "main [engine]"}, "run [engine]"},
		{[]string{"libcudart.so.13+0x3a2cf", "0x7f0000000010", "train.py:74 in step"}, "train.py:74 in step"},
		{[]string{"__cudaGetKernel [libcudart.so.13]", "0x7fffffffe000", cut}, ""},
		{[]string{"__cudaGetKernel [libcudart.so.13]", cut}, ""},
		{[]string{"libengine.so+0x10", cut}, "libengine.so+0x10"},
	} {
		var b strings.Builder
		chain := full().Chains[0]
		chain.Stack = c.stack
		r := &report.Report{Chains: []report.Chain{chain}}
		if err := report.WriteText(&b, r, report.TextOptions{Brief: true}); err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(b.String(), "\n  in     ")
		if got, _, _ = strings.Cut(got, "\n"); got != c.want {
			t.Errorf("%q: the place is %q, want %q", c.stack, got, c.want)
		}
	}
}

func TestCallsInFlightAreListedUnlessTheyHang(t *testing.T) {
	r := &report.Report{Verdict: "v", InFlight: []report.InFlight{
		{
			Op: "cudaFree", Process: "engine", TID: 7, AgeNS: 2e9, WaitsFor: "running on a CPU",
			Stack: []string{"main [engine]"},
		},
		{Op: "cudaMalloc", Process: "engine", TID: 8, AgeNS: 3e9, WaitsFor: "blocked on a page fault", Outcome: "died"},
		{Op: "cudaLaunchKernel", Process: "engine", TID: 9, AgeNS: 3e9, Hangs: true},
	}}
	var b strings.Builder
	if err := report.WriteText(&b, r, report.TextOptions{Width: 120}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"[in flight] engine (tid 7) has been in cudaFree for 2 s: running on a CPU\n  stack  main [engine]\n",
		"[in flight] engine (tid 8) ended in cudaMalloc after 3 s: blocked on a page fault\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "cudaLaunchKernel") {
		t.Errorf("a call that hangs is reported twice:\n%s", b.String())
	}
}
