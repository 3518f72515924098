package diagnose

import (
	"context"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/footprint"
	"github.com/ingero-io/ingero/store"
)

// loader reads one part of an input.
type loader struct {
	what string // for error messages; empty if load returns complete ones
	load func(in *Input, ctx context.Context, r store.Reader, w store.Window) error
}

func (in *Input) loadTables(ctx context.Context, r store.Reader, w store.Window) error {
	if err := r.Tables(ctx, w, &in.Tables, &in.Ops, &in.GapStats); err != nil {
		return fmt.Errorf("read records: %w", err)
	}
	for i := range derived {
		d := &derived[i]
		err := d.load(in, ctx, r, w)
		if err != nil && d.what != "" {
			err = fmt.Errorf("read %s: %w", d.what, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (in *Input) loadBefore(ctx context.Context, r store.Reader, w store.Window) (err error) {
	if before := in.beforeFlights(w); before != w {
		in.Before, err = store.List[store.OpStat](ctx, r, before)
	}
	return err
}

func (in *Input) loadFootprint(ctx context.Context, r store.Reader, w store.Window) error {
	fp, err := r.Footprint(ctx, w)
	if err != nil {
		return err
	}
	sum := footprint.New(in.Arch)
	sum.Add(&fp)
	over := slices.ContainsFunc(in.Losses, func(l event.Loss) bool { return l.Kind == event.FootprintOver })
	if over && len(fp.Syscalls) > 0 {
		sum.Over(fp.Syscalls[len(fp.Syscalls)-1].At) // they are in order
	}
	in.Footprint = sum.Report()
	return nil
}

// maxUnchanged is how long before a time the last record of a process's GPU memory may be, ns:
// there is one each minute (agent/gpus.go).
const maxUnchanged = 90_000_000_000

func (in *Input) loadGPUMemory(ctx context.Context, r store.Reader, w store.Window) (err error) {
	w.From -= min(w.From, maxUnchanged)
	in.GPUMemory, err = store.List[store.GPUProcess](ctx, r, w)
	return err
}

// maxSeries is about the largest number of steps of a series.
const maxSeries = 240

func (in *Input) loadSeries(ctx context.Context, r store.Reader, w store.Window) (err error) {
	in.SeriesStep = max(1, (in.Window.To-min(in.Window.From, in.Window.To))/1e9/maxSeries)
	in.Series, err = r.OpSeries(ctx, w, in.SeriesStep)
	return err
}

func (in *Input) loadWaitSeries(ctx context.Context, r store.Reader, w store.Window) (err error) {
	in.WaitSeries, err = r.WaitSeries(ctx, w, in.SeriesStep)
	return err
}

func (in *Input) loadWaitSites(ctx context.Context, r store.Reader, w store.Window) (err error) {
	in.WaitSites, err = r.WaitSites(ctx, w, in.SeriesStep)
	return err
}

// maxBusyCalls is the largest number of calls that are read to find out when processes used GPUs:
// about a second of reading.
const maxBusyCalls = 2_000_000

func (in *Input) loadBusy(ctx context.Context, r store.Reader, w store.Window) (err error) {
	if SeveralLaunch(in.Ops) {
		in.Busy, in.BusyUntil, err = r.Busy(ctx, w, maxBusyCalls)
	}
	return err
}
