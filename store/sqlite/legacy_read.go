package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Summary implements store.Reader.
func (r *legacyReader) Summary(ctx context.Context) (store.Summary, error) {
	e, err := r.load(ctx)
	if err != nil {
		return store.Summary{}, err
	}
	sum := store.Summary{Node: strings.Join(e.nodes, ", "), First: e.first, Last: e.last, Stored: uint64(len(e.calls))}
	for _, o := range e.opStats(store.Window{}) {
		sum.Calls += o.Calls
	}
	err = r.Reader.rows(ctx, `select id, started_at, stopped_at, node, kernel, cpu_cores, mem_total, ingero_ver, flags
		from earlier_sessions order by id`, nil, func(s *sqlite.Stmt) error {
		sum.Sessions = append(sum.Sessions, store.Session{
			ID: s.ColumnInt64(0), Started: nonNegative(s, 1), Stopped: nonNegative(s, 2), Node: s.ColumnText(3),
			Kernel: s.ColumnText(4),
			CPUs:   int(s.ColumnInt64(5)), Memory: nonNegative(s, 6) << 20, Version: s.ColumnText(7), Flags: s.ColumnText(8),
		})
		return nil
	})
	return sum, err
}

// CallsIn implements store.Recording.
func (r *legacyReader) CallsIn(ctx context.Context, w store.Window) (n uint64, err error) {
	list, err := r.opStats(ctx, w)
	for i := range list {
		n += list[i].Calls
	}
	return n, err
}

// processes returns those that have a name, and those with calls.
func (r *legacyReader) processes(ctx context.Context, _ store.Window) ([]store.Process, error) {
	e, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	found := map[uint32]store.Process{}
	for pid, name := range e.shared {
		found[pid] = store.Process{PID: pid, Name: name, Rank: -1, LocalRank: -1, WorldSize: -1}
	}
	for _, p := range e.named {
		found[p.PID] = p
	}
	for pid, p := range e.procs {
		found[pid] = *p
	}
	out := make([]store.Process, 0, len(found))
	for _, p := range found {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b store.Process) int { return cmp.Compare(a.PID, b.PID) })
	return out, nil
}

// threads returns those with calls or with intervals.
func (r *legacyReader) threads(ctx context.Context, _ store.Window) ([]store.ThreadInfo, error) {
	e, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	found := map[event.Thread]store.ThreadInfo{}
	for i := range e.off {
		o := &e.off[i]
		found[o.Thread] = store.ThreadInfo{Thread: o.Thread, Comm: e.comm(o.Thread)}
	}
	for i := range e.calls {
		t := e.calls[i].Thread
		found[t] = store.ThreadInfo{Thread: t, Comm: e.comm(t), Dispatch: true}
	}
	out := make([]store.ThreadInfo, 0, len(found))
	for _, t := range found {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b store.ThreadInfo) int { return compareThreads(a.Thread, b.Thread) })
	return out, nil
}

// opStats are exact where the file counts calls that it does not
// list. Counts of a minute that is only partly in the window are left out.
func (r *legacyReader) opStats(ctx context.Context, w store.Window) ([]store.OpStat, error) {
	e, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	return e.opStats(w), nil
}

// NotableGaps implements store.Reader.
func (r *legacyReader) NotableGaps(context.Context, store.Window, func(*event.Gap) bool) error {
	return nil
}

// Reaching implements store.Reader.
func (r *legacyReader) Reaching(ctx context.Context, at uint64, call func(*event.Call) bool,
	_ func(*event.Gap) bool,
) error {
	return r.Calls(ctx, store.Window{To: at}, func(c *event.Call) bool { return c.End() <= at || call(c) })
}

// ThreadTimes implements store.Reader.
func (r *legacyReader) ThreadTimes(context.Context, store.Window, func(*event.ThreadTime) bool) error {
	return nil
}

// OpSeries implements store.Reader: earlier versions kept no statistics by second.
func (r *legacyReader) OpSeries(context.Context, store.Window, uint64) ([]store.OpSecond, error) {
	return nil, nil
}

// WaitSeries implements store.Reader: earlier versions kept no statistics by second.
func (r *legacyReader) WaitSeries(context.Context, store.Window, uint64) ([]store.WaitSecond, error) {
	return nil, nil
}

// WaitSites implements store.Reader: earlier versions did not record from where calls were made.
func (r *legacyReader) WaitSites(context.Context, store.Window, uint64) ([]store.SiteSecond, error) {
	return nil, nil
}

// Busy implements store.Reader: earlier versions did not record who used which GPU.
func (r *legacyReader) Busy(context.Context, store.Window, int) ([]store.Busy, uint64, error) {
	return nil, 0, nil
}

// Calls implements store.Recording.
func (r *legacyReader) Calls(ctx context.Context, w store.Window, visit func(*event.Call) bool) error {
	return r.visitCalls(ctx, w, func(*event.Call) bool { return true }, visit)
}

// CallsOf implements store.Recording.
func (r *legacyReader) CallsOf(ctx context.Context, w store.Window, ops []event.Op,
	visit func(*event.Call) bool,
) error {
	return r.visitCalls(ctx, w, func(c *event.Call) bool { return slices.Contains(ops, c.Op) }, visit)
}

// CallTimes implements store.Reader.
func (r *legacyReader) CallTimes(ctx context.Context, w store.Window, visit func(*event.CallTime) bool) error {
	return r.Calls(ctx, w, func(c *event.Call) bool {
		t := c.Time()
		return visit(&t)
	})
}

// NotableCalls implements store.Reader.
func (r *legacyReader) NotableCalls(ctx context.Context, w store.Window, visit func(*event.Call) bool) error {
	e, err := r.load(ctx)
	if err != nil {
		return err
	}
	type series struct{ median, first uint64 }
	of := map[opStatKey]series{}
	for _, o := range e.opStats(store.Window{}) {
		of[opStatKey{o.Thread, o.Op}] = series{o.Hist.Quantile(0.5), o.First}
	}
	return r.visitCalls(ctx, w, func(c *event.Call) bool {
		s := of[opStatKey{c.Thread, c.Op}]
		return isNotable(c, s.median, c.Start == s.first, !c.Ledger.IsZero())
	}, visit)
}

func (r *legacyReader) visitCalls(ctx context.Context, w store.Window, wanted, visit func(*event.Call) bool) error {
	e, err := r.load(ctx)
	if err != nil {
		return err
	}
	i := sort.Search(len(e.calls), func(i int) bool { return e.calls[i].Start >= w.From })
	for ; i < len(e.calls) && w.Contains(e.calls[i].Start); i++ {
		if c := e.calls[i]; wanted(&c) && !visit(&c) {
			break
		}
	}
	return ctx.Err()
}

// OffCPU implements store.Reader.
func (r *legacyReader) OffCPU(ctx context.Context, w store.Window, visit func(*event.OffCPU) bool) error {
	e, err := r.load(ctx)
	if err != nil {
		return err
	}
	i := sort.Search(len(e.off), func(i int) bool { return e.off[i].from >= w.From })
	for ; i < len(e.off) && w.Contains(e.off[i].from); i++ {
		n := &e.off[i]
		o := event.OffCPU{
			Start: n.from, Duration: n.to - n.from, Thread: n.Thread, Comm: e.comm(n.Thread), Op: n.op, Class: n.class,
			Syscall: -1, WakerSyscall: -1, Dispatch: n.dispatch,
		}
		if !visit(&o) {
			break
		}
	}
	return ctx.Err()
}

// comm names a thread: by its own name, or by its process's if it has none.
func (e *legacyRows) comm(t event.Thread) string {
	const pid = 1<<idShift - 1 // without the node's number
	return cmp.Or(e.names[t.TID], e.shared[t.TID&pid], e.names[t.PID], e.shared[t.PID&pid])
}

// readLives returns what the file says of begins and ends.
func (r *legacyReader) readLives(ctx context.Context, w store.Window) ([]event.Life, error) {
	e, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	var lives []event.Life
	for _, l := range e.lives {
		if w.Contains(l.At) {
			lives = append(lives, l)
		}
	}
	return lives, nil
}

// snapshots returns the states of the machine.
func (r *legacyReader) snapshots(ctx context.Context, w store.Window) ([]store.Snapshot, error) {
	var out []store.Snapshot
	err := r.Reader.rows(ctx,
		`select timestamp, cpu_pct, mem_pct, mem_avail, swap_mb, load_avg from earlier_system_snapshots
		where timestamp between ? and ? order by timestamp`, bounds(w), func(s *sqlite.Stmt) error {
			out = append(out, store.Snapshot{
				At: nonNegative(s, 0), CPUPct: s.ColumnFloat(1), MemPct: s.ColumnFloat(2),
				MemAvailableMB: nonNegative(s, 3), SwapMB: nonNegative(s, 4), Load: s.ColumnFloat(5),
			})
			return nil
		})
	return out, err
}

// Stack implements store.Reader. The file has frames as JSON: s is the symbol
// with an offset behind it, f the object or source file, i the address of one
// without a symbol.
func (r *legacyReader) Stack(ctx context.Context, id uint64) (event.Stack, error) {
	stack := event.Stack{ID: id}
	found := false
	err := r.Reader.rows(ctx, "select frames from earlier_stack_traces where hash = ?", []int64{int64(id)},
		func(s *sqlite.Stmt) error {
			found = true
			var frames []struct {
				Symbol string `json:"s"`
				File   string `json:"f"`
				Addr   string `json:"i"`
			}
			if text := s.ColumnText(0); text != "" {
				if err := json.Unmarshal([]byte(text), &frames); err != nil {
					return fmt.Errorf("%w: frames of stack %d: %w", store.ErrCorrupt, int64(id), err)
				}
			}
			for _, f := range frames {
				fr := event.Frame{Kind: event.FrameNative, Symbol: f.Symbol, Module: f.File}
				if at := strings.LastIndex(f.Symbol, "+0x"); at > 0 {
					fr.Symbol = f.Symbol[:at]
				}
				_, _ = fmt.Sscanf(f.Addr, "0x%x", &fr.Addr) // without one it stays 0
				if strings.HasSuffix(f.File, ".py") {
					fr.Kind, fr.File, fr.Module = event.FramePython, f.File, ""
				}
				stack.Frames = append(stack.Frames, fr)
			}
			return nil
		})
	if err == nil && !found {
		err = fmt.Errorf("%s: stack %d: %w", r.source.path, int64(id), ErrNoStack)
	}
	return stack, err
}
