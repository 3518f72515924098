package export

import (
	"context"
	"strconv"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// counters draws what is measured each second, one piece of the recording after the other, so that
// a long recording does not fill memory.
func (t *timeline) counters(ctx context.Context) error {
	for _, w := range pieces(t.o.Window, t.first, t.last) {
		for _, step := range []func(context.Context, store.Window) error{t.memory, t.gpus, t.snapshots} {
			if err := step(ctx, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// A piece is of so many ns, or longer if there were too many.
const (
	pieceNS   = 600_000_000_000
	maxPieces = 1000
)

// pieces cuts a window of a recording, which has events from first to last. The time before and
// after them is in the first and the last piece.
func pieces(w store.Window, first, last uint64) []store.Window {
	var list []store.Window
	at := max(w.From, first)
	if w.To != 0 {
		last = min(last, w.To)
	}
	from, step := w.From, max(pieceNS, (last-min(at, last))/maxPieces)
	for ; at < last && last-at > step; at += step {
		list = append(list, store.Window{From: from, To: at + step})
		from = at + step
	}
	return append(list, store.Window{From: from, To: w.To})
}

// memory draws the allocated memory of processes.
func (t *timeline) memory(ctx context.Context, w store.Window) error {
	mem, err := store.List[event.Memory](ctx, t.src, w)
	for i := range mem {
		m := &mem[i]
		t.process(m.PID, "")
		t.to.count(&count{
			pid: m.PID, name: m.Space.String() + " memory", unit: "bytes", at: m.At,
			value: float64(m.LiveBytes),
		})
	}
	return err
}

// gpus draws the readings of GPUs.
func (t *timeline) gpus(ctx context.Context, w store.Window) error {
	gpus, err := store.List[store.GPUSnapshot](ctx, t.src, w)
	for i := range gpus {
		g := &gpus[i]
		name := "GPU " + strconv.Itoa(g.GPU)
		t.to.count(&count{name: name + " utilisation", unit: "%", at: g.At, value: float64(g.UtilPct)})
		t.to.count(&count{name: name + " clock", unit: "MHz", at: g.At, value: float64(g.ClockMHz)})
		t.to.count(&count{name: name + " temperature", unit: "C", at: g.At, value: float64(g.TempC)})
		t.to.count(&count{name: name + " memory", unit: "MiB", at: g.At, value: float64(g.MemMB)})
	}
	return err
}

// snapshots draws the state of the machine.
func (t *timeline) snapshots(ctx context.Context, w store.Window) error {
	snaps, err := store.List[store.Snapshot](ctx, t.src, w)
	for i := range snaps {
		s := &snaps[i]
		t.to.count(&count{name: "CPU", unit: "%", at: s.At, value: s.CPUPct})
		t.to.count(&count{name: "memory", unit: "%", at: s.At, value: s.MemPct})
		t.to.count(&count{name: "load", unit: "tasks", at: s.At, value: s.Load})
	}
	return err
}
