package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/probe"
	"github.com/ingero-io/ingero/probe/cuda"
	"github.com/ingero-io/ingero/probe/driver"
)

// callKind is a kind of call whose cost is measured.
type callKind struct {
	name      string
	behaviour string // of cudaLaunchKernel
	perCall   int    // traced calls it consists of
	batch     int    // calls measured at a time
	target    *Target
}

// The scheduler's programs, whose budget is the bystanders', run in a call that
// blocks: it has no target here.
var callKinds = []callKind{
	{"an empty call", "none", 1, 2000, atMost(1.25)},
	{"with a driver call in it", "nested", 2, 1000, atMost(1.25)},
	{"that blocks once", "sleep=5us", 1, 200, nil},
}

// callCost is a round's thread CPU time of one call of each kind.
type callCost []float64

// measureCall compares three conditions in turn: no probe, programs that do
// nothing, and the full programs with the ledger.
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
	defer v.Close() // its answers are all we want of it
	var base, empty, full []callCost
	rounds := pick(l, 6, 16)
	for i := range rounds {
		l.say("call: back end %s, round %d of %d", b, i+1, rounds)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for _, c := range []struct {
			to   *[]callCost
			opts *probe.Options
		}{{&base, nil}, {&empty, &probe.Options{Backend: b, Empty: true}}, {&full, &probe.Options{Backend: b}}} {
			cost, err := callRound(l, v, c.opts)
			if err != nil {
				return nil, err
			}
			*c.to = append(*c.to, cost)
		}
	}
	var rows []Row
	for k, kind := range callKinds {
		rows = append(rows, kind.row(b, column(base, k), column(empty, k), column(full, k)))
	}
	return rows, nil
}

func column(rounds []callCost, k int) series {
	var s series
	for _, r := range rounds {
		s = append(s, r[k])
	}
	return s
}

// row takes the best round of each condition: other load only ever adds time.
func (k *callKind) row(b probe.Backend, base, empty, full series) Row {
	n := float64(k.perCall)
	share, moves := estimate(func(s ...series) float64 {
		return (s[2].min() - s[0].min()) / (s[1].min() - s[0].min())
	}, base, empty, full)
	perRound := full.over(base, minus).over(empty.over(base, minus), ratio)
	return Row{
		Name: fmt.Sprintf("%s, %s", k.name, b), Unit: Ratio, Target: k.target,
		Measured: share, Error: moves,
		Detail: map[string]float64{
			"base_ns":         base.min(),
			"added_empty_ns":  (empty.min() - base.min()) / n,
			"added_ns":        (full.min() - base.min()) / n,
			"added_median_ns": full.over(base, minus).median() / n,
			"median":          perRound.median(),
			"rounds":          float64(len(base)),
		},
	}.judge()
}

// callRound measures all kinds of calls under one condition; nil options mean
// that nothing is attached.
func callRound(l *lab, v *cudastub.Victim, o *probe.Options) (cost callCost, err error) {
	if o != nil {
		t, err := probe.Open(*o)
		if err != nil {
			return nil, err
		}
		defer t.Close() // detaching cannot be mended here
		for lib, file := range map[*probe.Library]string{cuda.Library(): "libcudart.so.12", driver.Library(): "libcuda.so.1"} {
			if _, err := t.Attach(lib, filepath.Join(l.files.LibDir, file), 0); err != nil {
				return nil, err
			}
		}
		if err := t.Adopt(v.PID()); err != nil {
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

// measure is the best of many batches of calls, each so short that most of them
// run without being disturbed.
func (k *callKind) measure(l *lab, v *cudastub.Victim) (float64, error) {
	if _, err := v.Do("set cudaLaunchKernel:" + k.behaviour); err != nil {
		return 0, err
	}
	var s series
	for range pick(l, 40, 100) {
		a, err := v.Do(fmt.Sprintf("call cudaLaunchKernel %d timed=0", k.batch))
		if err != nil {
			return 0, err
		}
		s = append(s, float64(a.Int("cpu_ns"))/float64(k.batch))
	}
	return s.min(), nil
}

// drainEvery is how often the records of the measured calls are taken away.
const drainEvery = 20 * time.Millisecond

// drainBehind empties the tracer's rings until the returned function is called,
// which fails if calls were lost: a lost call is cheaper than a recorded one.
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
			err = fmt.Errorf("%d of the measured calls were lost; the machine is too busy to measure on", lost[event.LostCall])
		}
		return err
	}
}
