// Package fleetagent is a node's connection to its fleet: it sends pushes and polls when they are due, passes the
// answers to the node, and reports what began or ended.
package fleetagent

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ingero-io/ingero/cluster/node"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/store"
)

// Fleet is the fleet to ask. Its methods are called by several goroutines; they return when their context ends.
type Fleet interface {
	Push(ctx context.Context, p *wire.Push) (wire.Answer, error)
	Poll(ctx context.Context, p wire.Poll) (wire.Answer, error)
	// Reachable reports whether the fleet has answered lately.
	Reachable() bool
}

// Options of an agent.
type Options struct {
	Node  node.Options
	Fleet Fleet
	// Told is called with what began or ended, by one goroutine at a time. It must not call the agent.
	Told   func(node.Said)
	Logger *slog.Logger // nil: silent
}

// Agent runs a node of a fleet. Its methods may be called by several goroutines.
type Agent struct {
	options Options
	wake    chan struct{} // something is due earlier than planned

	mu      sync.Mutex // guards what follows
	node    *node.Node
	asking  map[uint64]bool // cohorts with a request in flight
	failing string          // error of the last request, empty if it succeeded
	said    []node.Said

	reporting sync.Mutex // held while Told is called; locked before mu is unlocked, which keeps the order
}

// New returns an agent. It asks nothing before Run.
func New(o Options) *Agent {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Agent{options: o, wake: make(chan struct{}, 1), node: node.New(o.Node), asking: map[uint64]bool{}}
}

// Batch takes in what was measured, see node.Node.Batch.
func (a *Agent) Batch(b *store.Batch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.node.Batch(b)
}

// Second is called about once a second, after the batches up to at.
func (a *Agent) Second(at time.Time) {
	a.mu.Lock()
	next := a.node.Next()
	a.said = a.node.Second(uint64(at.UnixNano()), a.said[:0])
	if due := a.node.Next(); due > 0 && (next == 0 || due < next) {
		a.rouse()
	}
	a.report()
}

// rouse wakes Run, to check what is due.
func (a *Agent) rouse() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// report calls Told for each entry of said, and unlocks mu.
func (a *Agent) report() {
	if len(a.said) == 0 {
		a.mu.Unlock()
		return
	}
	said := append([]node.Said(nil), a.said...)
	a.reporting.Lock()
	defer a.reporting.Unlock()
	a.mu.Unlock()
	for _, s := range said {
		a.options.Told(s)
	}
}

// Run asks the fleet until ctx ends, and returns when no request is in flight.
func (a *Agent) Run(ctx context.Context) {
	var requests sync.WaitGroup
	defer requests.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		case <-timer.C:
		}
		timer.Reset(a.ask(ctx, &requests))
	}
}

// idle is how long Run sleeps if nothing is due. Second wakes it.
const idle = time.Minute

// ask sends what is due, and returns the time until something else is.
func (a *Agent) ask(ctx context.Context, requests *sync.WaitGroup) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	pushes, polls := a.node.Due(now())
	for i := range pushes {
		p := &pushes[i]
		a.send(requests, p.Health.Cohort, func() (wire.Answer, error) { return a.options.Fleet.Push(ctx, p) })
	}
	for _, p := range polls {
		a.send(requests, p.Health.Cohort, func() (wire.Answer, error) { return a.options.Fleet.Poll(ctx, p) })
	}
	if next := a.node.Next(); next > 0 {
		return max(0, next-now())
	}
	return idle
}

// send sends a request and takes in the answer. mu is held. It skips a cohort that has a request in flight: the next
// push repeats what is left out.
func (a *Agent) send(requests *sync.WaitGroup, cohort uint64, ask func() (wire.Answer, error)) {
	if a.asking[cohort] {
		return
	}
	a.asking[cohort] = true
	requests.Go(func() {
		answer, err := ask()
		a.mu.Lock()
		delete(a.asking, cohort)
		a.log(err, answer.Reply != nil)
		a.said = a.node.Answer(now(), cohort, answer.Reply, a.said[:0])
		a.rouse() // a poll may be due now
		a.report()
	})
}

// log logs when the fleet stops to take what is pushed, and when it takes it again. answered: it was compared
// nevertheless. mu is held.
func (a *Agent) log(err error, answered bool) {
	before := a.failing
	a.failing = ""
	if err != nil {
		a.failing = err.Error()
	}
	switch {
	case err != nil && before == "" && answered:
		a.options.Logger.Warn("the fleet takes only a part of what is pushed", "err", err)
	case err != nil && before == "":
		a.options.Logger.Warn("the fleet accepts no pushes; until it does, ranks are compared with their own past",
			"err", err)
	case err == nil && before != "":
		a.options.Logger.Info("the fleet answers again")
	}
}

func now() time.Duration { return time.Duration(time.Now().UnixNano()) }

// Status is the state of the ranks on the node.
type Status struct {
	Reachable bool // the fleet has answered lately
	// Failing is the error of the last request, empty if it succeeded.
	Failing string
	Ranks   []node.RankStatus
}

// Status returns the state of the ranks, see node.Node.Status.
func (a *Agent) Status(pids []uint32) Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Status{Reachable: a.options.Fleet.Reachable(), Failing: a.failing, Ranks: a.node.Status(pids)}
}
