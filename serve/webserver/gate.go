package webserver

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
)

// Limits say how many calls may run at a time. Further calls wait.
type Limits struct {
	Calls   int // of all tools, resources and prompts
	PerTool int // of one tool, so that many calls of a slow tool do not block others
	Waiting int // calls that may wait; further ones are refused
}

// DefaultLimits leave a CPU to other calls while one tool has all its calls running.
func DefaultLimits() Limits {
	cpus := runtime.GOMAXPROCS(0)
	return Limits{Calls: min(max(2*cpus, 4), 16), PerTool: min(max(cpus-1, 1), 8), Waiting: 64}
}

// Gate admits a bounded number of calls, first come, first served among those it may admit.
type Gate struct {
	limits Limits

	mu      sync.Mutex // guards the rest
	running int
	byKey   map[string]int // no more entries than running
	queue   []*waiter
}

type waiter struct {
	key  string
	turn chan struct{}
}

// NewGate makes a gate.
func NewGate(l Limits) *Gate { return &Gate{limits: l, byKey: map[string]int{}} }

// Enter waits for a place for a key's call and returns the function that frees it.
func (g *Gate) Enter(ctx context.Context, key string) (func(), error) {
	g.mu.Lock()
	if len(g.queue) >= g.limits.Waiting {
		n := g.running
		g.mu.Unlock()
		return nil, fmt.Errorf("busy: %d calls are running and %d wait; try again in some seconds", n, g.limits.Waiting)
	}
	w := &waiter{key: key, turn: make(chan struct{})}
	g.queue = append(g.queue, w)
	g.admit()
	g.mu.Unlock()
	select {
	case <-w.turn:
		return func() { g.leave(key) }, nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.queue, w); i >= 0 {
		g.queue = slices.Delete(g.queue, i, i+1)
	} else { // it was admitted meanwhile
		g.release(key)
	}
	return nil, context.Cause(ctx)
}

func (g *Gate) leave(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.release(key)
}

func (g *Gate) release(key string) {
	g.running--
	if g.byKey[key]--; g.byKey[key] == 0 {
		delete(g.byKey, key)
	}
	g.admit()
}

// admit admits the waiting calls for which there is room.
func (g *Gate) admit() {
	g.queue = slices.DeleteFunc(g.queue, func(w *waiter) bool {
		if g.running >= g.limits.Calls || g.byKey[w.key] >= g.limits.PerTool {
			return false
		}
		g.running++
		g.byKey[w.key]++
		close(w.turn)
		return true
	})
}
