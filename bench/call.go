package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/cuda"
	"github.com/ingero-io/ingero/capture/probe/driver"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// callKind is a kind of call whose cost is measured.
type callKind struct {
	name      string
	behaviour string // of cudaLaunchKernel
	perCall   int    // traced calls it consists of
	batch     int    // calls measured at a time
	sleeps    bool
	target    *Target
}

// The scheduler's BPF programs run in a call that blocks; their budget is that of the bystanders.
// So that call has no target here. Its figure is a difference, because the CPU time of a thread
// that sleeps varies by more than what probes cost.
var callKinds = []callKind{
	{"an empty call", "none", 1, 2000, false, atMost(1.25)},
	{"with a driver call in it", "nested", 2, 1000, false, atMost(1.25)},
	{"that blocks once", "sleep=5us", 1, 200, true, nil},
}

// callCost is the thread CPU time of one call of each kind in a round, ns.
type callCost []float64

// measureCall compares three conditions in turn: no probe, programs that do nothing, and the full
// programs with the ledger.
func measureCall(ctx context.Context, l *lab) ([]Row, error) {
	backends := []probe.Backend{probe.BackendSession, probe.BackendMulti}
	if l.opts.Perf {
		backends = append(backends, probe.BackendPerf)
	}
	var rows []Row
	for _, b := range backends {
		r, err := measureCallOn(ctx, l, b)
		if errors.Is(err, probe.ErrUnsupported) {
			l.say("call: this kernel has no %s back end", b)
			continue
		}
		if err != nil {
			return rows, err
		}
		rows = append(rows, r...)
	}
	return rows, nil
}

func measureCallOn(ctx context.Context, l *lab, b probe.Backend) ([]Row, error) {
	v, err := l.files.Start(ctx, cudastub.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Close() }() // only its answers matter
	var base, empty, full []callCost
	rounds, foreign := pick(l, 10, 40), 0
	for len(base) < rounds {
		l.say("call: back end %s, round %d of %d", b, len(base)+1, rounds)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var costs []callCost
		for _, o := range []*probe.Options{nil, {Backend: b, Empty: true}, {Backend: b}, nil} {
			cost, err := callRound(l, v, o)
			if err != nil {
				return nil, err
			}
			costs = append(costs, cost)
		}
		if max(costs[0][0], costs[3][0]) > probedNS {
			if foreign++; foreign > 2*rounds {
				return nil, errForeign
			}
			continue
		}
		base, empty, full = append(base, costs[0]), append(empty, costs[1]), append(full, costs[2])
	}
	var rows []Row
	for k, kind := range callKinds {
		rows = append(rows, kind.row(b, column(base, k), column(empty, k), column(full, k)))
	}
	return rows, nil
}

// probedNS is more than the empty function takes on any machine without a probe, and less than with
// one, ns. A slower round was measured while another tracer was active.
const probedNS = 150

var errForeign = errors.New("another tracer traces every process here; stop it and measure again")

func column(rounds []callCost, k int) series {
	var s series
	for _, r := range rounds {
		s = append(s, r[k])
	}
	return s
}

// row compares the medians of the rounds.
func (k *callKind) row(b probe.Backend, base, empty, full series) Row {
	n := float64(k.perCall)
	floor, added := empty.over(base, minus), full.over(base, minus)
	unit, figure := Ratio, func(s ...series) float64 { return s[0].median() / s[1].median() }
	if k.sleeps {
		unit, figure = Nanoseconds, func(s ...series) float64 { return s[0].median() - s[1].median() }
	}
	measured, moves := estimate(figure, added, floor)
	return Row{
		Name: fmt.Sprintf("%s, %s", k.name, b), Unit: unit, Measured: measured, Error: moves, Target: k.target,
		Detail: map[string]float64{
			"base_ns":        base.median(),
			"added_empty_ns": floor.median() / n,
			"added_ns":       added.median() / n,
			"best_to_best":   (full.min() - base.min()) / (empty.min() - base.min()),
			"median":         added.over(floor, ratio).median(),
			"rounds":         float64(len(base)),
		},
	}.judge()
}

// callRound measures all kinds of calls under one condition; with nil options nothing is attached.
func callRound(l *lab, v *cudastub.Victim, o *probe.Options) (cost callCost, err error) {
	if o != nil {
		t, err := probe.Open(*o)
		if err != nil {
			return nil, err
		}
		defer func() { _ = t.Close() }() // nothing can be done if detaching fails
		if err := attachStubs(l, t, v.PID()); err != nil {
			return nil, err
		}
		stop := drainBehind(t)
		defer func() { err = errors.Join(err, stop()) }()
	}
	for _, k := range callKinds {
		c, err := k.measure(l, v)
		if err != nil {
			return nil, err
		}
		cost = append(cost, c)
	}
	return cost, nil
}

// attachStubs attaches to the stand-ins and adopts a process that uses them.
func attachStubs(l *lab, t *probe.Tracer, pid int) error {
	for lib, file := range map[*probe.Library]string{cuda.Library(): "libcudart.so.12", driver.Library(): "libcuda.so.1"} {
		if _, err := t.Attach(lib, filepath.Join(l.files.LibDir, file), 0); err != nil {
			return err
		}
	}
	return t.Adopt(pid)
}

// measure is the quiet quartile of a few batches of calls, each so short that most of them run
// undisturbed.
func (k *callKind) measure(l *lab, v *cudastub.Victim) (float64, error) {
	if _, err := v.Do("set cudaLaunchKernel:" + k.behaviour); err != nil {
		return 0, err
	}
	var s series
	for range batches {
		a, err := v.Do(fmt.Sprintf("call cudaLaunchKernel %d timed=0", k.batch))
		if err != nil {
			return 0, err
		}
		s = append(s, float64(a.Int("cpu_ns"))/float64(k.batch))
	}
	return s.quantile(quiet), nil
}

// A round's figure is the quiet quartile of its batches. The best batch is not used: a machine
// sometimes runs faster for a moment, and only some rounds would have such a batch.
const (
	batches = 12
	quiet   = 0.25
)

// drainEvery is how often the records of the measured calls are read.
const drainEvery = 20 * time.Millisecond

// drainBehind empties the tracer's rings until the returned function is called. That one fails if
// calls were dropped: a dropped call is cheaper than a recorded one.
func drainBehind(t *probe.Tracer) (stop func() error) {
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		var r probe.Records
		tick := time.NewTicker(drainEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				r.Reset()
				t.Drain(&r, 1<<20)
			}
		}
	})
	return func() error {
		close(done)
		wg.Wait()
		lost, err := t.Losses()
		if err == nil && lost[event.LostCall] > 0 {
			err = fmt.Errorf("%d of the measured calls were dropped; the machine is too busy to measure on",
				lost[event.LostCall])
		}
		return err
	}
}
