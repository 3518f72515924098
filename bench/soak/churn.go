package soak

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// churner is something that happens on a machine, and that the tracer has to survive.
type churner struct {
	name  string
	after time.Duration // of the first round; of a run of less than two minutes, a part of it
	every time.Duration // from the beginning of one round to that of the next; the cycle of all must divide a minute
	// round does it once. It ends soon when ctx is done, and leaves nothing behind.
	round func(ctx context.Context, w *world) error
	// unable says why this cannot be done on this machine; nil: it always can.
	unable func() string
}

// churners are all of them, each in a file of its own.
func churners() []churner {
	return []churner{
		programs, forks, threads, loops, replaced, mounts, namespaces, short, reused,
		readers, fullDisk, command, stops, kills, clock,
	}
}

// rounds is what was done.
type rounds struct {
	mu     sync.Mutex
	done   map[string]int
	failed []string
}

// churn does everything until ctx is done, and waits for the rounds that have begun.
func churn(ctx context.Context, w *world, length time.Duration) {
	var all sync.WaitGroup
	for _, c := range churners() {
		if c.unable != nil {
			if why := c.unable(); why != "" {
				w.skipped = append(w.skipped, c.name+": "+why)
				continue
			}
		}
		after := c.after
		if length < 2*time.Minute {
			after = after * 2 / 5
		}
		all.Go(func() { c.runRounds(ctx, w, after) })
	}
	all.Wait()
}

func (c *churner) runRounds(ctx context.Context, w *world, after time.Duration) {
	wait(ctx, after)
	for ctx.Err() == nil {
		next := time.Now().Add(c.every)
		err := c.round(ctx, w)
		if ctx.Err() != nil {
			return
		}
		w.rounds.mu.Lock()
		w.rounds.done[c.name]++
		if err != nil {
			w.rounds.failed = append(w.rounds.failed, fmt.Sprintf("%s: %v", c.name, err))
		}
		w.rounds.mu.Unlock()
		wait(ctx, time.Until(next))
	}
}
