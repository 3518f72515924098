package bench

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// stackDepths are the numbers of functions between the thread's start and the call. Each takes some
// 32 bytes of the stack: the last two give stacks as large as those with large local arrays.
var stackDepths = []int{0, 50, 500, 2000, 8000}

// copiesOf is how many calls are measured at a time. Their stacks must fit into half of the ring; a
// large stack takes up to 512 KB there.
func copiesOf(depth int) int {
	if depth > 500 {
		return 10
	}
	return 100
}

// measureStack measures what a stack costs the thread and the tracer, and what that adds up to in a
// training loop.
func measureStack(ctx context.Context, l *lab) ([]Row, error) {
	var rows []Row
	for _, depth := range stackDepths {
		l.say("stack: of a call %d functions deep", depth)
		r, err := measureCopy(ctx, l, depth)
		rows = append(rows, r...)
		if err != nil {
			return rows, err
		}
	}
	r, err := measurePolicies(ctx, l)
	return append(rows, r...), err
}

// copied is the CPU time of a call in the caller, and that of reading it, in one round.
type copied struct{ call, drain float64 }

func measureCopy(ctx context.Context, l *lab, depth int) ([]Row, error) {
	v, err := l.files.Start(ctx, cudastub.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Close() }() // only its answers matter
	var call, drain series
	for range pick(l, 5, 15) {
		off, err := copyRound(l, v, probe.StackOff, depth)
		if err != nil {
			return nil, err
		}
		all, err := copyRound(l, v, probe.StackAll, depth)
		if err != nil {
			return nil, err
		}
		call, drain = append(call, all.call-off.call), append(drain, all.drain-off.drain)
	}
	row := func(name string, s series) Row {
		v, moves := estimate(func(s ...series) float64 { return s[0].median() }, s)
		return Row{
			Name: fmt.Sprintf("%s, %d functions deep", name, depth), Unit: Nanoseconds, Measured: v, Error: moves,
			Detail: map[string]float64{"best": s.min(), "rounds": float64(len(s))},
		}
	}
	return []Row{row("added to a call by its stack", call), row("to unwind it", drain)}, nil
}

// copyRound measures calls under one policy. The measuring thread empties the tracer's ring between
// batches.
func copyRound(l *lab, v *cudastub.Victim, p probe.StackPolicy, depth int) (c copied, err error) {
	runtime.LockOSThread() // its CPU clock is read
	defer runtime.UnlockOSThread()
	t, err := probe.Open(probe.Options{Stack: p})
	if err != nil {
		return c, err
	}
	defer func() { _ = t.Close() }() // nothing can be done if detaching fails
	copies := copiesOf(depth)
	if err := attachStubs(l, t, v.PID()); err != nil {
		return c, err
	}
	var call, drain series
	var r probe.Records
	for range batches {
		a, err := v.Do(fmt.Sprintf("call cudaLaunchKernel %d timed=0 depth=%d", copies, depth))
		if err != nil {
			return c, err
		}
		before := threadCPU()
		r.Reset()
		t.Drain(&r, 1<<20)
		drain = append(drain, float64(threadCPU()-before)/float64(copies))
		call = append(call, float64(a.Int("cpu_ns"))/float64(copies))
		if p == probe.StackAll && len(r.Stacks) != copies {
			return c, fmt.Errorf("%d of %d stacks were recorded", len(r.Stacks), copies)
		}
	}
	return copied{call.quantile(quiet), drain.quantile(quiet)}, nil
}

// threadCPU is the CPU time of the calling thread.
func threadCPU() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0 // there is no Linux without this clock
	}
	return time.Duration(ts.Nano())
}

// measurePolicies runs the training loop without the tracer and with each policy,
// in turn, and compares the CPU time added to a call.
func measurePolicies(ctx context.Context, l *lab) ([]Row, error) {
	policies := []string{"", "off", "slow", "all"}
	cpu := map[string]series{}
	var calls series
	for i := range pick(l, 4, 12) {
		for k := range policies {
			p := policies[(i+k)%len(policies)] // none is always first
			l.say("stack: round %d of %d", i+1, pick(l, 4, 12))
			run, err := l.trainStacks(ctx, p)
			if err != nil {
				return nil, err
			}
			cpu[p] = append(cpu[p], run.cpuPerStep())
			if p == "off" {
				calls = append(calls, run.calls/float64(run.Steps))
			}
		}
	}
	added := func(p string) series { return cpu[p].over(cpu[""], minus) }
	perStep := func(s ...series) float64 { return s[0].median() / s[1].median() }
	var rows []Row
	for _, p := range []string{"slow", "all"} {
		var target *Target
		if p == "slow" {
			target = atMost(1.05)
			target.WithinError = true
		}
		v, moves := estimate(perStep, added(p), added("off"))
		rows = append(rows, Row{
			Name: "added to a call of the loop, " + p + " against off", Unit: Ratio, Measured: v, Error: moves, Target: target,
			Detail: map[string]float64{
				"added_off_ns": added("off").median() / calls.median(), "added_ns": added(p).median() / calls.median(),
				"best_to_best": (cpu[p].min() - cpu[""].min()) / (cpu["off"].min() - cpu[""].min()),
				"loop_ratio":   cpu[p].over(cpu["off"], ratio).median(), "rounds": float64(len(cpu[p])),
			},
		}.judge())
	}
	return rows, nil
}

// trainStacks runs the loop under a tracer with a policy, or without a tracer if the policy is
// empty.
func (l *lab) trainStacks(ctx context.Context, policy string) (trained, error) {
	var flags []string
	if policy != "" {
		flags = []string{"--stack=" + policy}
	}
	seconds := strconv.FormatFloat(pick(l, 1.5, 3.0), 'f', 2, 64)
	loop, err := l.files.StartLoop(ctx, cudastub.Options{}, "--seconds", seconds)
	if err != nil {
		return trained{}, err
	}
	var t *tracer
	if flags != nil {
		if t, err = l.trace(ctx, loop.PID(), flags...); err != nil {
			_ = loop.Stop() // the first error is reported
			_, _ = loop.Wait()
			return trained{}, err
		}
	}
	var r trained
	if r.Truth, err = loop.Wait(); err != nil || t == nil {
		return r, err
	}
	for _, n := range r.Calls {
		r.calls += float64(n)
	}
	if err := t.stop(); err != nil {
		return r, err
	}
	_, err = t.recorded(ctx)
	return r, err
}
