package bench

import (
	"context"
	"time"
)

// at20k paces the loop's 22 calls a step to 20,000 a second.
var at20k = []string{"--pace-us", "1100"}

// measureTracer measures the tracer while it records 20,000 calls a second, and how often the loop
// is disturbed.
func measureTracer(ctx context.Context, l *lab) ([]Row, error) {
	first, err := firstEvent(ctx, l)
	if err != nil {
		return nil, err
	}
	stall, err := told(ctx, l)
	if err != nil {
		return []Row{first}, err
	}
	rows := []Row{first, stall}

	l.say("tracer: recording")
	run, t, err := l.train(ctx, true, pick(l, 4.0, 15.0), nil, at20k...)
	if err != nil {
		return rows, err
	}
	rec, err := t.recorded(ctx)
	if err != nil {
		return rows, err
	}
	rate := run.calls / run.Seconds
	rows = append(rows, Row{
		Name: "CPU of one core, 20 k calls/s stored", Unit: Percent, Target: atMost(5),
		Measured: 100 * run.tracerCPU.Seconds() / run.Seconds,
		Detail:   map[string]float64{"calls_per_s": rate, "ns_per_call": float64(run.tracerCPU) / run.calls},
	}.judge(), Row{
		Name: "peak memory", Unit: Megabytes, Measured: float64(t.peak) / 1e6, Target: atMost(80),
	}.judge(), Row{
		Name: "bytes per stored call", Unit: Bytes, Measured: float64(rec.bytes) / float64(rec.rows), Target: atMost(60),
		Detail: map[string]float64{"rows": float64(rec.rows), "bytes": float64(rec.bytes)},
	}.judge())

	p, err := l.pairs(ctx, "tracer: switches", pick(l, 4, 8), pick(l, 1.5, 4.0), &training{})
	if err != nil {
		return rows, err
	}
	return append(rows, switchesRow(&p)), nil
}

// switchesRow is the number of context switches that the tracer adds to the loop. Without a tracer
// the loop makes one voluntary switch a step: the rest is added.
func switchesRow(p *pairs) Row {
	involuntary := func(t *trained) float64 { return float64(t.InvoluntarySwitches) / t.Seconds }
	voluntary := func(t *trained) float64 { return float64(t.VoluntarySwitches) / float64(t.Steps) }
	forced := seriesOf(p.with, involuntary).over(seriesOf(p.without, involuntary), minus)
	wanted := seriesOf(p.with, voluntary).over(seriesOf(p.without, voluntary), minus)
	stepsPS := seriesOf(p.with, func(t *trained) float64 { return t.StepsPS }).median()
	all := forced.over(wanted, func(f, w float64) float64 { return f + w*stepsPS })
	added, moves := estimate(func(s ...series) float64 { return s[0].median() }, all)
	return Row{
		Name: "context switches added to the loop", Unit: PerSecond, Measured: added, Error: moves, Target: atMost(20),
		Detail: map[string]float64{
			"involuntary_with":    seriesOf(p.with, involuntary).median(),
			"involuntary_without": seriesOf(p.without, involuntary).median(),
			"voluntary_added":     wanted.median() * stepsPS, "rounds": float64(len(all)),
		},
	}.judge()
}

// firstEvent is the time from starting the program to the first recorded call, if the traced
// process is busy already.
func firstEvent(ctx context.Context, l *lab) (Row, error) {
	var total, attach series
	for range pick(l, 2, 5) {
		l.say("tracer: first event")
		took, ready, err := firstEventOnce(ctx, l)
		if err != nil {
			return Row{}, err
		}
		total, attach = append(total, took.Seconds()), append(attach, ready.Seconds())
	}
	return Row{
		Name: "start to first event", Unit: Seconds, Measured: total.median(), Error: total.quantile(1) - total.median(),
		Target: atMost(0.5),
		Detail: map[string]float64{"attached_s": attach.median()},
	}.judge(), nil
}

func firstEventOnce(ctx context.Context, l *lab) (took, attached time.Duration, err error) {
	loop, err := l.busyLoop(ctx, at20k...)
	if err != nil {
		return 0, 0, err
	}
	defer func() {
		_ = loop.Stop() // it may have ended with ctx
		_, _ = loop.Wait()
	}()
	t, err := l.trace(ctx, loop.PID())
	if err != nil {
		return 0, 0, err
	}
	attached = time.Unix(0, t.start.At).Sub(t.began)
	select { // until some calls were read
	case <-ctx.Done():
	case <-time.After(300 * time.Millisecond):
	}
	if err := t.stop(); err != nil {
		return 0, 0, err
	}
	if _, err := t.recorded(ctx); err != nil {
		return 0, 0, err
	}
	// The tracer counts from the start of its run; the program began before it.
	began := time.Unix(0, t.start.At-t.start.Took).Sub(t.began)
	return began + time.Duration(t.summary.FirstEvent), attached, nil
}
