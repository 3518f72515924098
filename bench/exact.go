package bench

import (
	"context"
	"fmt"
	"math"

	"github.com/ingero-io/ingero/internal/cudastub"
)

// load is a way of making calls, and whether calls may be dropped.
type load struct {
	name     string
	perS     int // 0: as fast as possible
	lossless bool
}

var loads = []load{
	{"1 k calls/s", 1_000, true},
	{"10 k calls/s", 10_000, true},
	{"100 k calls/s", 100_000, true},
	{"300 k calls/s", 300_000, true},
	{"as fast as possible", 0, false},
}

// measureExact compares what a program counted with what the recording holds.
func measureExact(ctx context.Context, l *lab) ([]Row, error) {
	var rows []Row
	for _, k := range loads {
		l.say("exact: %s", k.name)
		r, err := k.rows(ctx, l)
		if err != nil {
			return rows, err
		}
		rows = append(rows, r...)
	}
	l.say("exact: durations")
	r, err := durationError(ctx, l)
	if err != nil {
		return rows, err
	}
	return append(rows, r), nil
}

func (k *load) command(l *lab) string {
	if k.perS == 0 {
		return fmt.Sprintf("call cudaLaunchKernel %d timed=0", pick(l, 2_000_000, 8_000_000))
	}
	return fmt.Sprintf("rate cudaLaunchKernel %d %d", k.perS, pick(l, 2, 10))
}

func (k *load) rows(ctx context.Context, l *lab) ([]Row, error) {
	a, rec, err := traced(ctx, l, "none", k.command(l))
	if err != nil {
		return nil, err
	}
	made := float64(a.Int("calls"))
	missing := made - float64(rec.calls) - float64(rec.lost)
	detail := map[string]float64{
		"made": made, "recorded": float64(rec.calls), "rows": float64(rec.rows), "lost": float64(rec.lost),
	}
	if b := a.Int("behind"); b > 0 {
		detail["behind"] = float64(b) // the program itself could not keep up
	}
	if ns := a.Int("ns"); ns > 0 {
		detail["calls_per_s"] = made / float64(ns) * 1e9
	}
	rows := []Row{Row{
		Name: k.name + ", not accounted for", Unit: Calls, Measured: math.Abs(missing), Target: atMost(0), Detail: detail,
	}.judge()}
	lost := Row{Name: k.name + ", dropped", Unit: Calls, Measured: float64(rec.lost)}
	if k.lossless {
		lost.Target = atMost(0)
	}
	return append(rows, lost.judge()), nil
}

// traced runs one command of the victim under the tracer.
func traced(ctx context.Context, l *lab, behaviour, command string) (cudastub.Answer, recording, error) {
	v, err := l.files.Start(ctx, cudastub.Options{Behaviour: "cudaLaunchKernel:" + behaviour})
	if err != nil {
		return nil, recording{}, err
	}
	defer func() { _ = v.Close() }() // only its answer matters
	t, err := l.trace(ctx, v.PID())
	if err != nil {
		return nil, recording{}, err
	}
	a, err := v.Do(command)
	if err != nil {
		return nil, recording{}, err
	}
	if err := t.stop(); err != nil {
		return nil, recording{}, err
	}
	rec, err := t.recorded(ctx)
	return a, rec, err
}

// durationError compares medians: the victim's clock around the call also measures the time to
// enter and leave the tracer.
func durationError(ctx context.Context, l *lab) (Row, error) {
	a, rec, err := traced(ctx, l, "spin=20us", fmt.Sprintf("call cudaLaunchKernel %d", pick(l, 5_001, 20_001)))
	if err != nil {
		return Row{}, err
	}
	theirs, ours := float64(a.Int("p50_ns")), rec.durations.median()
	return Row{
		Name: "median duration against the caller's clock", Unit: Nanoseconds, Measured: math.Abs(theirs - ours),
		Target: atMost(1000),
		Detail: map[string]float64{"caller_ns": theirs, "recorded_ns": ours},
	}.judge(), nil
}
