package accuracy

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/hollow"
	"github.com/ingero-io/ingero/internal/real/llama"
	"github.com/ingero-io/ingero/internal/real/torch"
	"github.com/ingero-io/ingero/internal/rig"
)

// RealPrograms are programs by other authors, fetched and ready to run on the hollow GPU
// (docs/real.md).
type RealPrograms struct {
	llama    llama.Files
	llamaGPU string // folder of the GPU's libraries for llama.cpp
	torch    torch.Files
}

// FetchReal fetches and builds what is not in the cache, and reports this to progress. Close
// removes what is not kept in the cache.
func FetchReal(ctx context.Context, progress io.Writer) (p *RealPrograms, err error) {
	p = &RealPrograms{}
	if p.llama, err = llama.Fetch(ctx, progress); err != nil {
		return nil, err
	}
	if p.torch, err = torch.Fetch(ctx, progress); err != nil {
		return nil, err
	}
	if err := p.torch.FetchTriton(ctx, progress); err != nil {
		return nil, err
	}
	if p.llamaGPU, err = os.MkdirTemp("", "ingero-hollow-"); err != nil {
		return nil, fmt.Errorf("make a folder for the hollow GPU: %w", err)
	}
	if err := p.llama.GPU(ctx, p.llamaGPU); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close removes what is not kept in the cache.
func (p *RealPrograms) Close() {
	_ = os.RemoveAll(p.llamaGPU) // leftovers are in the folder for temporary files
}

// realProgram is the program that a case runs.
type realProgram string

const (
	llama12 realProgram = "llama.cpp, CUDA 12"
	llama13 realProgram = "llama.cpp, CUDA 13"
	pytorch realProgram = "PyTorch"
	ranks   realProgram = "PyTorch, two ranks"
)

// scripts are the programs of internal/real/torch that PyTorch runs.
var scripts = map[realProgram]string{pytorch: "faulty.py", ranks: "ranks.py"}

// torch reports whether PyTorch runs the program.
func (p realProgram) torch() bool { return scripts[p] != "" }

// realCase is a run of a real program, with a fault or as a control.
type realCase struct {
	name    string // empty: the fault's
	program realProgram
	fault   *Expect  // nil: a control
	allowed []string // kinds that a control may report
	needs   int      // CPUs
	atOnce  bool     // the fault is there from the start: there are no steps without it
	draw    func(*draw) realRun
}

// realRun is what is drawn for a case.
type realRun struct {
	program realProgram
	args    []string
	env     []string
	gpu     string  // settings of the hollow GPU (internal/hollow/DESIGN.md)
	outside outside // nil: the fault, if any, is in the program itself
}

// realSettle is after how many seconds an outside fault of llama.cpp begins: loading and some
// seconds of healthy steps come first.
const realSettle = 5

// decode draws arguments and the GPU's settings for a decoding run of llama.cpp.
func decode(d *draw, env ...string) realRun {
	return realRun{
		args: arguments("--seconds", 10, "--seed", d.between(1, 1<<20)), env: env,
		gpu: fmt.Sprintf("kernel.default=%dus;device.sm=%d", d.between(8, 40), []int{89, 90}[d.rng.IntN(2)]),
	}
}

const noGraphs = "GGML_CUDA_DISABLE_GRAPHS=1"

// Measured: a cudaMalloc of 16 MB takes 890 us, one of 64 KB 180 us (README of
// github.com/rtj1/cuda-mempool). So 300 us each is not too long.

// train draws arguments and the GPU's settings for a PyTorch training run with a fault of its own.
func train(fault string, ms span) func(*draw) realRun {
	return func(d *draw) realRun {
		return realRun{
			args: arguments("--fault", fault, "--ms", d.of(ranges{Medium: ms}, Medium), "--steps", 500, "--after", 250),
			gpu:  fmt.Sprintf("kernel.default=%dus;alloc=300us;free=300us", d.between(500, 700)),
		}
	}
}

// steady is a healthy training run of some ten seconds.
func steady(d *draw) realRun { return kernelsOf(500, 700)(d) }

// kernelsPerStep is about how many kernels a step of faulty.py has.
const kernelsPerStep = 17

// steadyWith is a steady run that needs a CPU for a share of the GPU's time in each step: so little
// that the GPU hides it, but so much that it no longer does when another program takes half of that
// CPU.
func steadyWith(flag string, share float64) func(*draw) realRun {
	return func(d *draw) realRun {
		us := d.between(500, 700)
		return kernelsOf(us, us, flag, fmt.Sprintf("%.1f", share*float64(us*kernelsPerStep)/1e3))(d)
	}
}

// with adds a fault from outside to a run.
func with(run func(*draw) realRun, fault func(*draw, *realRun) outside) func(*draw) realRun {
	return func(d *draw) realRun {
		r := run(d)
		r.outside = fault(d, &r)
		return r
	}
}

func decoding(d *draw) realRun { return decode(d) }

var realCases = slices.Concat(faultsOf(pytorch), []realCase{
	{program: pytorch, fault: hogOnCPU, needs: 2, draw: with(steadyWith("--host-ms", 0.5), hogBesideLoop)},
	{
		program: pytorch, needs: 2, draw: with(steadyWith("--worker-ms", 0.6), hogBesideWorker),
		fault: expect("worker-hog", Culprit, "running", event.CauseCPUContention, event.CauseInputStarvation),
	},
	{
		program: pytorch, needs: 2, draw: with(steadyWith("--backward-ms", 0.5), hogBesideAutograd),
		fault: expect("autograd-hog", Culprit, "running", event.CauseCPUContention),
	},
	{program: pytorch, fault: slowGPU, draw: with(steady, slower)},
	{program: pytorch, fault: driftingGPU, draw: with(steady, drifting)},

	{program: pytorch, fault: expect("cold", Victim, "running", event.CauseColdStart), atOnce: true, draw: coldStart},
	lateRank("late-cpu", "running"), lateRank("late-disk", "blocked"), lateRank("late-lock", "blocked"),
	lateRank("late-faults", "blocked"),
	{program: ranks, fault: lateByQuota, needs: 2, draw: with(evenRanks("--host-ms", "12"), quotaOfRank)},
	{program: ranks, fault: lateByHog, needs: 2, draw: with(evenRanks("--host-ms", "12"), hogBesideRank)},

	{program: llama13, fault: hogOnCPU, needs: 2, draw: with(pinnedDecode, hogBesideLoop)},
	{
		program: llama12, draw: with(decoding, quotaOf),
		fault: expect("quota", Victim, "throttled", event.CauseCPUThrottled),
	},
	{
		program: llama13, draw: decodingWithLock,
		fault: expect("mutex", Culprit, "running", event.CauseLockContention),
	},
	{program: llama13, fault: slowGPU, draw: with(decoding, slower)},
	{program: llama12, fault: slowGPU, draw: with(eager, slower)},
	{name: "slow-gpu-now-and-then", program: llama13, fault: slowGPU, draw: with(decoding, slowerNowAndThen)},

	{name: "healthy decode", program: llama13, draw: decoding},
	{name: "healthy decode without graphs", program: llama12, draw: eager},
	{name: "prompts", program: llama12, draw: mode("prompt")},
	{name: "server with pauses", program: llama13, draw: mode("serve")},
	{name: "healthy training", program: pytorch, draw: steady},
	{name: "training on a slow GPU", program: pytorch, draw: kernelsOf(1000, 1400)},
	{name: "evaluation now and then", program: pytorch, draw: kernelsOf(500, 700, "--eval-every", 50)},
	{name: "gradient accumulation", program: pytorch, draw: kernelsOf(500, 700, "--accumulate", 4)},
	{name: "more work from half of the steps on", program: pytorch, draw: kernelsOf(400, 500, "--grow")},
	{name: "warm-up with compilation", program: pytorch, draw: kernelsOf(500, 700, "--compile --steps 600 --after 600")},
	{name: "healthy", program: ranks, draw: evenRanks()},
	{name: "gradient accumulation", program: ranks, draw: evenRanks("--accumulate", "4")},
	{
		name: "launch-bound by design", program: pytorch, allowed: []string{event.CauseLaunchBound},
		draw: kernelsOf(2, 2, "--work", 1000),
	},
})

var (
	hogOnCPU = expect("cpu-hog", Culprit, "running", event.CauseCPUContention)
	slowGPU  = expect("slow-gpu", Victim, "", event.CauseGPUWait, event.CauseGraphLaunchDrop)

	driftingGPU = expect("drifting-gpu", Victim, "", event.CauseGPUWait, event.CauseGraphLaunchDrop)
)

func expect(fault string, named Party, path string, kinds ...string) *Expect {
	return &Expect{Fault: fault, Kinds: kinds, Named: named, Path: path}
}

// faultsOf are the faults that PyTorch's training loop has itself (faulty.py).
func faultsOf(p realProgram) []realCase {
	var list []realCase
	for _, f := range []struct {
		*Expect
		ms span
	}{
		{expect("worker-cpu", Culprit, "running", event.CauseInputStarvation), span{25, 50}},
		{expect("worker-disk", Culprit, "blocked", event.CauseBlockIO), span{25, 50}},
		{expect("worker-net", Culprit, "", event.CausePeerWait, event.CauseNetworkWait), span{25, 50}},
		{expect("gil", Culprit, "running", event.CauseLockContention), span{60, 100}},
		{expect("mutex", Culprit, "", event.CauseLockContention), span{30, 50}},
		{expect("checkpoint", Victim, "blocked", event.CauseBlockIO), span{20, 60}},
		{expect("pageable", Victim, "", event.CausePageableCopy), span{20, 40}},
		{expect("item", Victim, "", event.CauseImplicitSync), span{20, 40}},
		{expect("empty-cache", Victim, "", event.CauseAllocChurn), span{20, 40}},
		{expect("recapture", Victim, "", event.CauseGraphRecapture), span{20, 40}},
	} {
		draw := train(f.Fault, f.ms)
		if f.Fault == "item" {
			draw = withHostWork(draw)
		}
		list = append(list, realCase{program: p, fault: f.Expect, draw: draw})
	}
	return list
}

// withHostWork adds CPU work to each step, which the GPU's work hides unless the step waits for the
// GPU before it.
func withHostWork(run func(*draw) realRun) func(*draw) realRun {
	return func(d *draw) realRun {
		r := run(d)
		r.args = append(r.args, arguments("--host-ms", d.between(3, 5))...)
		return r
	}
}

func decodingWithLock(d *draw) realRun {
	r := decode(d)
	lock := arguments("--lock-ms", d.between(15, 40), "--period-ms", d.between(100, 180), "--start-after", 3)
	r.args = append(r.args, lock...)
	return r
}

func mode(name string) func(*draw) realRun {
	return func(d *draw) realRun {
		r := decode(d)
		r.args = append(r.args, "--mode", name)
		return r
	}
}

// kernelsOf is a healthy training run whose kernels take from to to us.
func kernelsOf(from, to int, more ...any) func(*draw) realRun {
	return func(d *draw) realRun {
		gpu := fmt.Sprintf("kernel.default=%dus", d.between(from, to))
		return realRun{args: append(arguments("--steps", 900, "--after", 900), arguments(more...)...), gpu: gpu}
	}
}

// coldStart loads the code of each kernel at its first launch.
func coldStart(d *draw) realRun {
	r := steady(d)
	r.gpu += fmt.Sprintf(";load.cpu=%dms", d.between(100, 200))
	return r
}

func eager(d *draw) realRun { return decode(d, noGraphs) }

// pinnedDecode runs on one CPU.
func pinnedDecode(d *draw) realRun {
	r := decode(d)
	r.args = append(r.args, "--pin", fmt.Sprint(d.cpu()))
	return r
}

// RealNames lists the valid values of Options.Only for real programs.
func RealNames() []string {
	names := []string{"llama", "pytorch", "ranks", controlsName}
	for i := range realCases {
		if f := realCases[i].fault; f != nil && !slices.Contains(names, f.Fault) {
			names = append(names, f.Fault)
		}
	}
	return names
}

// RealCases draws the cases of real programs.
func RealCases(o *Options, p *RealPrograms) ([]Case, error) {
	for _, n := range o.Only {
		if !slices.Contains(RealNames(), n) {
			return nil, fmt.Errorf("there is no fault %q of real programs; there are %s",
				n, strings.Join(RealNames(), ", "))
		}
	}
	var cases []Case
	for i := range realCases {
		k := &realCases[i]
		if len(o.Only) > 0 && !slices.ContainsFunc(o.Only, k.is) {
			continue
		}
		c := Case{Allowed: append([]string{event.CauseColdStart}, k.allowed...), needs: max(k.needs, 1)}
		if c.Name = k.name; c.Name == "" {
			c.Name = k.fault.Fault
		}
		c.Name = string(k.program) + ": " + c.Name
		if len(o.CPUs) >= c.needs {
			r := k.draw(newDraw(o.Seed, c.Name, o.CPUs, o.Quick))
			r.program = k.program
			c.Args, c.pace = r.args, &pace{atOnce: k.atOnce}
			c.real = func(opts *rig.Options) { r.into(opts, p, c.pace) }
		}
		if k.fault != nil {
			c.Expect = []Expect{*k.fault}
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// is reports whether the case belongs to a name of RealNames.
func (k *realCase) is(name string) bool {
	switch name {
	case "llama":
		return !k.program.torch()
	case "pytorch":
		return k.program.torch()
	case "ranks":
		return k.program == ranks
	case controlsName:
		return k.fault == nil
	}
	return k.fault != nil && k.fault.Fault == name
}

// into makes the rig run the program.
func (r realRun) into(o *rig.Options, p *RealPrograms, measured *pace) {
	shared := filepath.Join(o.Dir, "hollow")
	o.Parse = measured.parseLlama
	if r.program.torch() {
		o.Parse = measured.parseTorch
	}
	o.Program = func(ctx context.Context, args []string) (*exec.Cmd, error) {
		cmd := p.command(ctx, r.program, shared, o.Dir, args)
		cmd.Env = append(cmd.Env, r.env...)
		_ = os.Remove(filepath.Join(o.Dir, steadyFile)) // of an earlier run
		if r.program.torch() {
			// Each time, because the host of a virtual machine may take back pages that were not
			// used for minutes.
			if err := p.torch.ReadFiles(); err != nil {
				return nil, err
			}
		}
		return cmd, hollow.Set(shared, strings.ReplaceAll(r.gpu, ";", "\n"))
	}
	if r.outside != nil {
		o.During = func(ctx context.Context, pid int) (rig.Tell, error) {
			settled := r.program.torch() && settle(ctx, o.Dir) || !r.program.torch() && sleep(ctx, realSettle)
			if !settled {
				return nil, nil
			}
			measured.since = monotonic()
			return r.outside(ctx, &surroundings{pid: pid, dir: o.Dir, shared: shared, gpu: r.gpu})
		}
	}
}

func (p *RealPrograms) command(ctx context.Context, which realProgram, shared, dir string, args []string) *exec.Cmd {
	var cmd *exec.Cmd
	switch which {
	case pytorch, ranks:
		cmd = p.torch.Command(ctx, shared, append([]string{scripts[which], "--wait-stdin", "--dir", dir}, args...)...)
	case llama12:
		cmd = p.llama.Command(ctx, 12, p.llamaGPU, []string{"HOLLOW_FILE=" + shared}, args...)
	case llama13:
		cmd = p.llama.Command(ctx, 13, p.llamaGPU, []string{"HOLLOW_FILE=" + shared}, args...)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}
