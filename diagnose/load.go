package diagnose

import (
	"context"
	"fmt"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// maxStacks bounds how many stacks Load resolves.
const maxStacks = 64

// Load reads what a diagnosis of the window needs. DB and Note are for the
// caller to fill in.
func Load(ctx context.Context, r store.Reader, w store.Window) (*Input, error) {
	sum, err := r.Summary(ctx)
	if err != nil {
		return nil, fmt.Errorf("read summary: %w", err)
	}
	in := &Input{Node: sum.Node, Window: w, First: sum.First, Losses: sum.Losses}
	if n := len(sum.Sessions); n > 0 {
		in.CPUs, in.SelfPID = sum.Sessions[n-1].CPUs, sum.Sessions[n-1].PID
	}
	if in.Window.From == 0 {
		in.Window.From = sum.First
	}
	if in.Window.To == 0 && sum.Last != 0 {
		in.Window.To = sum.Last + 1
	}
	if err := in.loadTables(ctx, r, w); err != nil {
		return nil, err
	}
	if err := in.loadRows(ctx, r, w); err != nil {
		return nil, err
	}
	if err := in.loadSymbols(ctx, r); err != nil {
		return nil, err
	}
	return in, in.loadStacks(ctx, r)
}

func (in *Input) loadTables(ctx context.Context, r store.Reader, w store.Window) error {
	var err error
	if in.Processes, err = r.Processes(ctx); err != nil {
		return fmt.Errorf("read processes: %w", err)
	}
	if in.Threads, err = r.Threads(ctx); err != nil {
		return fmt.Errorf("read threads: %w", err)
	}
	if in.Ops, err = r.OpStats(ctx, w); err != nil {
		return fmt.Errorf("read operation statistics: %w", err)
	}
	if in.GapStats, err = r.GapStats(ctx, w); err != nil {
		return fmt.Errorf("read gap statistics: %w", err)
	}
	if in.Throttles, err = r.Throttles(ctx, w); err != nil {
		return fmt.Errorf("read throttling: %w", err)
	}
	if in.Limits, err = r.MemoryLimits(ctx); err != nil {
		return fmt.Errorf("read memory limits: %w", err)
	}
	if in.Lives, err = r.Lives(ctx, w); err != nil {
		return fmt.Errorf("read process life cycle: %w", err)
	}
	if in.Stalls, err = r.Stalls(ctx, w); err != nil {
		return fmt.Errorf("read CPU stalls: %w", err)
	}
	if in.Reclaims, err = r.Reclaims(ctx, w); err != nil {
		return fmt.Errorf("read memory reclaim: %w", err)
	}
	if in.Snapshots, err = r.Snapshots(ctx, w); err != nil {
		return fmt.Errorf("read machine snapshots: %w", err)
	}
	return nil
}

func (in *Input) loadRows(ctx context.Context, r store.Reader, w store.Window) error {
	if err := r.NotableCalls(ctx, w, keep(&in.Calls)); err != nil {
		return fmt.Errorf("read calls: %w", err)
	}
	if err := r.NotableGaps(ctx, w, keep(&in.Gaps)); err != nil {
		return fmt.Errorf("read gaps: %w", err)
	}
	// A reader may reuse the slices of a row for the next one.
	off := keep(&in.OffCPU)
	err := r.OffCPU(ctx, w, func(o *event.OffCPU) bool {
		c := *o
		c.Culprits = append([]event.Culprit(nil), o.Culprits...)
		c.Kernel = append([]uint64(nil), o.Kernel...)
		return off(&c)
	})
	if err != nil {
		return fmt.Errorf("read off-CPU intervals: %w", err)
	}
	if err := r.ThreadTimes(ctx, w, keep(&in.ThreadTimes)); err != nil {
		return fmt.Errorf("read thread totals: %w", err)
	}
	return nil
}

// keep returns a visitor that appends every value to list.
func keep[T any](list *[]T) func(*T) bool {
	return func(v *T) bool {
		*list = append(*list, *v)
		return true
	}
}

// loadStacks resolves the stacks of the slowest calls.
func (in *Input) loadStacks(ctx context.Context, r store.Reader) error {
	in.Stacks = map[uint64]event.Stack{}
	for _, c := range slowest(in.Calls, maxStacks) {
		if _, ok := in.Stacks[c.Stack]; c.Stack == 0 || ok {
			continue
		}
		s, err := r.Stack(ctx, c.Stack)
		if err != nil {
			// A stack that was lost leaves a finding without one; the
			// finding stands.
			continue
		}
		in.Stacks[c.Stack] = s
	}
	return ctx.Err()
}
