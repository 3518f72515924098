package bench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// training is a loop that is run with and without the tracer. A step is 20 launches of 5 us, a
// copy, a synchronisation of 0.5 ms and host work.
type training struct {
	name   string
	args   []string
	flags  []string // of the tracer
	target *Target
	floor  bool // also measured with BPF programs that do nothing
	// seconds is how long it runs, if not as long as most: probes without use are detached only
	// after the first seconds.
	seconds float64
}

var trainings = []training{
	{name: "20 k launches/s", target: atLeast(0.975), floor: true},
	{name: "2 k launches/s", args: []string{"--host-us", "9180"}, target: atLeast(0.995)},
	{name: "20 k launches/s, a driver call in each", args: few, seconds: long},
	{name: "20 k launches/s, each driver call counted", args: few, flags: counted, seconds: long},
	{name: "200 k launches/s, a driver call in each", args: many, seconds: long},
	{name: "200 k launches/s, each driver call counted", args: many, flags: counted, seconds: long},
	{name: "20 k launches/s, every source on", flags: []string{"--footprint", "--pages"}, target: atLeast(0.96)},
}

// few is the usual step; many is one of 200 launches in a millisecond.
var (
	few  = []string{"--nested"}
	many = append(few, strings.Fields("--launches 200 --launch-us 3 --memcpy-us 20 --sync-us 200 --host-us 180")...)
	// counted makes the tracer count each of the driver's launches.
	counted = []string{"--inner-calls"}
)

// long is the length of a run in seconds if its first three seconds cost more than the others.
const long = 20

// trained is a run of the loop.
type trained struct {
	cudastub.Truth
	calls     float64       // of the runtime and the driver
	tracerCPU time.Duration // while the loop ran
}

func (t *trained) cpuPerStep() float64  { return float64(t.CPUNS) / float64(t.Steps) }
func (t *trained) wallPerStep() float64 { return 1e9 / t.StepsPS }

// train runs the loop, and a tracer with these flags beside it if traced. The tracer has ended when
// train returns; it is nil if there was none.
func (l *lab) train(ctx context.Context, traced bool, seconds float64, flags []string, args ...string) (r trained,
	t *tracer, err error,
) {
	args = append([]string{"--seconds", strconv.FormatFloat(seconds, 'f', 2, 64)}, args...)
	loop, err := l.files.StartLoop(ctx, cudastub.Options{}, args...)
	if err != nil {
		return r, nil, err
	}
	if !traced {
		r.Truth, err = loop.Wait()
		return r, nil, err
	}
	if t, err = l.trace(ctx, loop.PID(), flags...); err != nil {
		_ = loop.Stop() // the first error is reported
		_, _ = loop.Wait()
		return r, nil, err
	}
	before, err := t.cpu()
	if err != nil {
		return r, nil, err
	}
	if r.Truth, err = loop.Wait(); err != nil {
		return r, nil, err
	}
	after, err := t.cpu()
	if err != nil {
		return r, nil, err
	}
	r.tracerCPU = after - before
	for _, n := range r.Calls {
		r.calls += float64(n)
	}
	return r, t, t.stop()
}

// trainEmpty runs the loop with programs that do nothing on every function: the kernel's own cost
// of the probes.
func (l *lab) trainEmpty(ctx context.Context, seconds float64, args ...string) (r trained, err error) {
	args = append([]string{"--seconds", strconv.FormatFloat(seconds, 'f', 2, 64)}, args...)
	loop, err := l.files.StartLoop(ctx, cudastub.Options{}, args...)
	if err != nil {
		return r, err
	}
	t, err := probe.Open(probe.Options{Empty: true})
	if err == nil {
		defer func() { _ = t.Close() }() // nothing can be done if detaching fails
		err = attachStubs(l, t, loop.PID())
	}
	if err != nil {
		_ = loop.Stop() // the first error is reported
		_, _ = loop.Wait()
		return r, err
	}
	r.Truth, err = loop.Wait()
	return r, err
}

// pairs are runs of one loop without and with the tracer, alternating, and with programs that do
// nothing if wanted.
type pairs struct{ without, with, empty []trained }

func (l *lab) pairs(ctx context.Context, what string, n int, seconds float64, k *training) (p pairs, err error) {
	for i := range n {
		l.say("%s: pair %d of %d", what, i+1, n)
		if k.floor {
			r, err := l.trainEmpty(ctx, seconds, k.args...)
			if err != nil {
				return p, err
			}
			p.empty = append(p.empty, r)
		}
		for _, traced := range []bool{i%2 == 1, i%2 == 0} { // neither is always first
			r, t, err := l.train(ctx, traced, seconds, k.flags, k.args...)
			if err != nil {
				return p, err
			}
			if t == nil {
				p.without = append(p.without, r)
				continue
			}
			p.with = append(p.with, r)
			if _, err := t.recorded(ctx); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

// seriesOf returns one figure of every run.
func seriesOf(runs []trained, f func(*trained) float64) series {
	var s series
	for i := range runs {
		s = append(s, f(&runs[i]))
	}
	return s
}

// measureLoop measures which share of its steps a training loop keeps. Users see steps a second,
// but other load disturbs them. The same share, computed from the CPU time added to a step, is what
// remains without other load.
func measureLoop(ctx context.Context, l *lab) ([]Row, error) {
	var rows []Row
	for i := range trainings {
		k := &trainings[i]
		rounds, seconds := pick(l, 4, 10), pick(l, 1.5, 3.0)
		if k.seconds > 0 {
			rounds, seconds = pick(l, 2, 5), k.seconds
		}
		p, err := l.pairs(ctx, "loop: "+k.name, rounds, seconds, k)
		if err != nil {
			return rows, err
		}
		rows = append(rows, k.rows(&p)...)
	}
	return rows, nil
}

func (k *training) rows(p *pairs) []Row {
	stepsPS := func(t *trained) float64 { return t.StepsPS }
	slow, fast := seriesOf(p.with, stepsPS), seriesOf(p.without, stepsPS)
	share := slow.over(fast, ratio)
	kept, keptMoves := estimate(func(s ...series) float64 { return s[0].median() }, share)

	wall := seriesOf(p.without, (*trained).wallPerStep)
	cpuWith, cpuWithout := seriesOf(p.with, (*trained).cpuPerStep), seriesOf(p.without, (*trained).cpuPerStep)
	keeps := func(added, wall float64) float64 { return wall / (wall + added) }
	byCPU := cpuWith.over(cpuWithout, minus).over(wall, keeps)
	least, leastMoves := estimate(func(s ...series) float64 { return s[0].median() }, byCPU)
	added := cpuWith.over(cpuWithout, minus).median()
	callsPerStep := seriesOf(p.with, func(t *trained) float64 { return t.calls / float64(t.Steps) }).median()

	rows := []Row{Row{
		Name: k.name + ", steps/s kept", Unit: Ratio, Measured: kept, Error: keptMoves, Target: k.target,
		Detail: map[string]float64{
			"without_per_s": fast.median(), "with_per_s": slow.median(), "best_to_best": slow.quantile(1) / fast.quantile(1),
			"worst_pair": share.min(), "rounds": float64(len(share)),
		},
	}.judge(), Row{
		Name: k.name + ", by CPU time", Unit: Ratio, Measured: least, Error: leastMoves, Target: k.target,
		Detail: map[string]float64{
			"without_ns_per_step": cpuWithout.median(), "with_ns_per_step": cpuWith.median(),
			"added_ns_per_call": added / callsPerStep,
			"best_to_best":      keeps(cpuWith.min()-cpuWithout.min(), wall.min()), "rounds": float64(len(byCPU)),
		},
	}.judge()}
	if len(p.empty) == 0 {
		return rows
	}
	share = seriesOf(p.empty, stepsPS).over(fast, ratio)
	kept, keptMoves = estimate(func(s ...series) float64 { return s[0].median() }, share)
	return append(rows, Row{
		Name: k.name + ", programs that do nothing", Unit: Ratio, Measured: kept, Error: keptMoves,
		Detail: map[string]float64{"rounds": float64(len(share))},
	})
}

// busyLoop starts a loop that runs until stopped.
func (l *lab) busyLoop(ctx context.Context, args ...string) (*cudastub.LoopRun, error) {
	loop, err := l.files.StartLoop(ctx, cudastub.Options{}, append([]string{"--seconds", "600"}, args...)...)
	if err != nil {
		return nil, err
	}
	if err := loop.Begin(); err != nil {
		return nil, fmt.Errorf("begin loop: %w", err)
	}
	return loop, nil
}
