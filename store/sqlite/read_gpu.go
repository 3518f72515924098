package sqlite

import (
	"context"
	"math"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// OpSeries implements store.Reader. The window grows to whole seconds. Calls that came late have a
// row of their own, which is added to that of their second.
func (r *Reader) OpSeries(ctx context.Context, w store.Window, step uint64) ([]store.OpSecond, error) {
	var out []store.OpSecond
	step = min(max(step, 1), math.MaxInt32)
	err := r.rows(ctx, `select (id >> 20) / ?3 * ?3, thread, op, sum(calls), sum(sum), max(max),
		sum(coalesce(runq, 0) + coalesce(throttled, 0) + coalesce(block_io, 0) + coalesce(fault, 0)),
		sum(coalesce(bytes, 0)) from call_second
		where id between ?1 and ?2 group by 1, 2, 3
		order by 1, 2, 3`, append(seconds(w), int64(step)), func(s *sqlite.Stmt) error {
		t, err := r.thread(ctx, s.ColumnInt64(1))
		if err != nil {
			return err
		}
		out = append(out, store.OpSecond{
			Second: uint64(s.ColumnInt64(0)), Thread: t.Thread, Op: event.Op(s.ColumnInt64(2)),
			Calls: uint64(s.ColumnInt64(3)), SumNS: uint64(s.ColumnInt64(4)), MaxNS: uint64(s.ColumnInt64(5)),
			HeldNS: uint64(s.ColumnInt64(6)), Bytes: uint64(s.ColumnInt64(7)),
		})
		return nil
	})
	return out, err
}

// Busy implements store.Reader.
func (r *Reader) Busy(ctx context.Context, w store.Window, maxCalls int) (spans []store.Busy, until uint64, err error) {
	var b store.BusySpans
	n := 0
	err = r.rows(ctx, "select ts, dur, thread, op, gpu from call where ts between ? and ? order by ts", bounds(w),
		func(s *sqlite.Stmt) error {
			start := uint64(s.ColumnInt64(0))
			if n++; n > maxCalls {
				until = start
				return errStop
			}
			t, err := r.thread(ctx, s.ColumnInt64(2))
			if err != nil {
				return err
			}
			gpu := int8(event.NoGPU)
			if !s.ColumnIsNull(4) {
				gpu = int8(s.ColumnInt64(4))
			}
			b.Add(t.PID, gpu, event.Op(s.ColumnInt64(3)), start, start+uint64(s.ColumnInt64(1)))
			return nil
		})
	return b.Spans(), until, err
}
