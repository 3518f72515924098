package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/cuda"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/hollow"
	"github.com/ingero-io/ingero/internal/real/llama"
)

// decoding is a run of llama.cpp that is measured with and without the tracer.
type decoding struct {
	name   string
	env    []string
	target *Target
	late   bool // the tracer is started while the program runs
}

var decodings = []decoding{
	{name: "with graphs", target: atLeast(0.985)},
	{name: "with graphs, attached while it runs", target: atLeast(0.985), late: true},
	{name: "without graphs", target: atLeast(0.975), env: noGraphs},
	{name: "without graphs, attached while it runs", target: atLeast(0.975), env: noGraphs, late: true},
}

var noGraphs = []string{"GGML_CUDA_DISABLE_GRAPHS=1"}

const (
	// llamaKernel makes the GPU run some 200,000 kernels a second.
	llamaKernel = "kernel.default=5us"
	// runsAlone is how long the program runs before a late tracer is started.
	runsAlone = 2 * time.Second
	// settles is how many seconds are not measured: loading, attaching, and the first seconds,
	// after which probes without use are detached.
	settles = 8.0
	// llamaWindow is how many tokens are timed together. The median of the windows is a run's
	// figure, so that other load of the machine counts only if it is there most of the time.
	llamaWindow = 20
)

// llamaFiles are llama.cpp and a hollow GPU for it.
type llamaFiles struct {
	llama.Files
	gpu string
}

func (l *lab) fetchLlama(ctx context.Context) (f llamaFiles, err error) {
	l.say("llama: fetching and building, 320 MB if nothing is in the cache")
	if f.Files, err = llama.Fetch(ctx, sayer{l}); err != nil {
		return f, err
	}
	f.gpu = filepath.Join(l.dir, "hollow-gpu")
	if err := os.Mkdir(f.gpu, 0o755); err != nil {
		return f, fmt.Errorf("make a folder for the hollow GPU: %w", err)
	}
	return f, f.GPU(ctx, f.gpu)
}

// sayer passes what is written to it to Progress.
type sayer struct{ *lab }

func (s sayer) Write(b []byte) (int, error) {
	s.say("%s", b)
	return len(b), nil
}

// llamaRun is the figures of a run.
type llamaRun struct {
	perToken float64 // ns
	launches float64 // GPU kernels a second, with those of graphs
	lost     uint64  // calls that were dropped, according to the tracer's recording
}

// observer is what runs beside the measured program.
type observer int

const (
	nobody observer = iota
	theTracer
	theFloor // BPF programs that do nothing on each function of the runtime, before its first call
)

// decode runs llama.cpp with an observer.
func (l *lab) decode(
	ctx context.Context, f *llamaFiles, k *decoding, beside observer, seconds float64,
) (r llamaRun, err error) {
	l.number++
	shared := filepath.Join(l.dir, fmt.Sprintf("hollow%d", l.number))
	if err := hollow.Set(shared, llamaKernel); err != nil {
		return r, err
	}
	cmd := f.Command(ctx, 13, f.gpu, append([]string{"HOLLOW_FILE=" + shared}, k.env...),
		"--seconds", strconv.FormatFloat(settles+seconds, 'f', 2, 64))
	var tokens struct{ Ends []int64 }
	run, err := cudastub.StartTruthful(cmd, func(printed []byte, _ *cudastub.Truth) error {
		return json.Unmarshal(printed, &tokens)
	})
	if err != nil {
		return r, err
	}
	var t *tracer
	switch beside {
	case theTracer:
		t, err = l.attach(ctx, run, k.late)
	case theFloor:
		var floor *probe.Tracer
		if floor, err = emptyRuntime(filepath.Join(f.gpu, "libcudart.so.13"), run.PID()); err == nil {
			defer func() { _ = floor.Close() }() // nothing can be done if detaching fails
		}
	}
	if err != nil {
		_ = run.Stop() // the first error is reported
		_, _ = run.Wait()
		return r, err
	}
	if _, err := run.Wait(); err != nil {
		return r, err
	}
	if t != nil {
		if err := t.stop(); err != nil {
			return r, err
		}
		rec, err := t.recorded(ctx)
		if err != nil {
			return r, err
		}
		if rec.calls == 0 {
			return r, fmt.Errorf("the tracer recorded no call of llama.cpp%s", t.said())
		}
		r.lost = rec.lost
	}
	rows, err := hollow.Counts(shared)
	if err != nil {
		return r, err
	}
	var kernels float64
	for _, n := range hollow.By(rows, hollow.Executed) {
		kernels += float64(n)
	}
	if r.perToken = perToken(tokens.Ends, int64(seconds*1e9)); r.perToken == 0 {
		return r, fmt.Errorf("llama.cpp decoded only %d tokens", len(tokens.Ends))
	}
	r.launches = kernels / float64(len(tokens.Ends)) * 1e9 / r.perToken
	return r, nil
}

// emptyRuntime attaches programs that do nothing to the runtime's functions in a process. The
// driver's functions get none: under a tracer, too, those that are called often lose their probes.
func emptyRuntime(path string, pid int) (*probe.Tracer, error) {
	t, err := probe.Open(probe.Options{Empty: true})
	if err != nil {
		return nil, err
	}
	if _, err := t.Attach(cuda.Library(), path, pid); err != nil {
		_ = t.Close() // the attach error is reported
		return nil, err
	}
	return t, nil
}

// attach starts a tracer on the program before its first CUDA call, or while it runs.
func (l *lab) attach(ctx context.Context, run *cudastub.LoopRun, late bool) (*tracer, error) {
	if late {
		if err := run.Begin(); err != nil {
			return nil, err
		}
		select {
		case <-time.After(runsAlone):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return l.trace(ctx, run.PID())
}

// perToken is the median duration of a token, ns, by windows of llamaWindow tokens in the last
// ns of the run; 0 if there is no such window.
func perToken(ends []int64, last int64) float64 {
	var s series
	for i := len(ends) - 1; i >= llamaWindow && ends[i-llamaWindow] >= ends[len(ends)-1]-last; i -= llamaWindow {
		s = append(s, float64(ends[i]-ends[i-llamaWindow])/llamaWindow)
	}
	if len(s) == 0 {
		return 0
	}
	return s.median()
}

// measureLlama measures which share of its tokens a second llama.cpp keeps.
func measureLlama(ctx context.Context, l *lab) ([]Row, error) {
	f, err := l.fetchLlama(ctx)
	if err != nil {
		return nil, err
	}
	var rows []Row
	rounds, seconds := pick(l, 2, 5), pick(l, 4, 8.0)
	for i := range decodings {
		k := &decodings[i]
		observers := []observer{nobody, theTracer}
		if !k.late {
			observers = append(observers, theFloor)
		}
		var perToken [theFloor + 1]series
		var launches series
		var lost uint64
		for n := range rounds {
			l.say("llama: %s: round %d of %d", k.name, n+1, rounds)
			for i := range observers {
				who := observers[(i+n)%len(observers)] // none is always first
				r, err := l.decode(ctx, &f, k, who, seconds)
				if err != nil {
					return rows, err
				}
				perToken[who] = append(perToken[who], r.perToken)
				lost += r.lost
				if who == nobody {
					launches = append(launches, r.launches)
				}
			}
		}
		without, with, floor := perToken[nobody], perToken[theTracer], perToken[theFloor]
		share := without.over(with, ratio)
		kept, moves := estimate(func(s ...series) float64 { return s[0].median() }, share)
		row := Row{
			Name: k.name + ", tokens/s kept", Unit: Ratio, Measured: kept, Error: moves, Target: k.target,
			Detail: map[string]float64{
				"without_per_s": 1e9 / without.median(), "with_per_s": 1e9 / with.median(),
				"best_to_best": without.min() / with.min(), "worst_pair": share.min(), "kernels_per_s": launches.median(),
				"rounds": float64(len(share)),
			},
		}
		all := Row{Name: k.name + ", calls dropped", Unit: Calls, Measured: float64(lost), Target: atMost(0)}
		rows = append(rows, row.judge(), all.judge())
		if len(floor) > 0 {
			kept, moves := estimate(func(s ...series) float64 { return s[0].median() }, without.over(floor, ratio))
			rows = append(rows, Row{
				Name: k.name + ", programs that do nothing", Unit: Ratio, Measured: kept, Error: moves,
				Detail: map[string]float64{"with_per_s": 1e9 / floor.median()},
			})
		}
	}
	return rows, nil
}
