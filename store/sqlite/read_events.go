package sqlite

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// readLedger reads ledgerColumns from column i on.
func readLedger(s *sqlite.Stmt, i int, l *event.Ledger) {
	for c := range l.NS {
		l.NS[c] = uint64(s.ColumnInt64(i + c))
	}
	l.Voluntary = uint16(min(s.ColumnInt64(i+int(event.NumClasses)), 0xffff))
	l.Involuntary = uint16(min(s.ColumnInt64(i+int(event.NumClasses)+1), 0xffff))
}

const callQuery = `select c.ts, c.thread, c.op, c.dur, c.ret, c.gpu, c.depth, c.stack, c.weight,
	a.a0, a.a1, a.a2, a.a3, l.ts, ` + "%s" + `, c.rest
	from call c left join args a on a.id = c.args left join call_ledger l on l.ts = c.ts `

// expand puts the ledger's columns into a query.
func expand(query string) string { return fmt.Sprintf(query, ledgerColumns) }

var (
	notableCallQuery = expand(strings.Replace(callQuery, "from call c", "from notable n join call c on c.ts = n.ts", 1) + "where n.ts between ? and ? order by n.ts")
	reachingQuery    = expand(callQuery + "where c.ts between ? and ? and c.ts + c.dur > ? order by c.ts")
	allCallQuery     = expand(callQuery + "where c.ts between ? and ? order by c.ts")
)

// Calls implements store.Recording.
func (r *Reader) Calls(ctx context.Context, w store.Window, visit func(*event.Call) bool) error {
	return r.calls(ctx, allCallQuery, bounds(w), visit)
}

// CallsOf implements store.Recording.
func (r *Reader) CallsOf(ctx context.Context, w store.Window, ops []event.Op, visit func(*event.Call) bool) error {
	var list []string
	for _, o := range ops {
		list = append(list, strconv.Itoa(int(o)))
	}
	return r.calls(ctx, expand(callQuery+"where c.ts between ? and ? and c.op in ("+strings.Join(list, ", ")+") order by c.ts"), bounds(w), visit)
}

// CallTimes implements store.Reader.
func (r *Reader) CallTimes(ctx context.Context, w store.Window, visit func(*event.CallTime) bool) error {
	query := "select ts, thread, op, dur, depth, weight, rest, case when op in (" + opsThat(tellsSite) + ") then (select a" +
		strconv.Itoa(event.SiteArg) + " from args where id = call.args) end from call where ts between ? and ? order by ts"
	if ok, err := r.hasColumn(ctx, "call", "rest"); err != nil {
		return err
	} else if !ok {
		query = strings.Replace(query, "rest", "null", 1)
	}
	var c event.CallTime
	return r.rows(ctx, query, bounds(w), func(s *sqlite.Stmt) error {
		t, err := r.thread(ctx, s.ColumnInt64(1))
		if err != nil {
			return err
		}
		c = event.CallTime{
			Start: uint64(s.ColumnInt64(0)), Duration: uint64(s.ColumnInt64(3)), Thread: t.Thread,
			Op: event.Op(s.ColumnInt64(2)), Depth: uint8(s.ColumnInt64(4)), Weight: uint32(s.ColumnInt64(5)), Rest: uint64(s.ColumnInt64(6)),
			Site: uint64(s.ColumnInt64(7)),
		}
		return stopUnless(visit(&c))
	})
}

func (r *Reader) calls(ctx context.Context, query string, args []int64, visit func(*event.Call) bool) error {
	if ok, err := r.hasColumn(ctx, "call", "rest"); err != nil {
		return err
	} else if !ok {
		query = strings.Replace(query, "c.rest", "null", 1)
	}
	var c event.Call
	return r.rows(ctx, query, args, func(s *sqlite.Stmt) error {
		t, err := r.thread(ctx, s.ColumnInt64(1))
		if err != nil {
			return err
		}
		c = event.Call{
			Start: uint64(s.ColumnInt64(0)), Duration: uint64(s.ColumnInt64(3)), Thread: t.Thread,
			Op: event.Op(s.ColumnInt64(2)), Ret: int32(s.ColumnInt64(4)), GPU: event.NoGPU,
			Depth: uint8(s.ColumnInt64(6)), Weight: uint32(s.ColumnInt64(8)), Rest: uint64(s.ColumnInt64(14 + ledgerWidth)),
		}
		if !s.ColumnIsNull(5) {
			c.GPU = int8(s.ColumnInt64(5))
		}
		for i := range c.Args {
			c.Args[i] = uint64(s.ColumnInt64(9 + i))
		}
		if !s.ColumnIsNull(13) {
			readLedger(s, 14, &c.Ledger)
		}
		if c.Stack, err = r.stackHash(ctx, s.ColumnInt64(7)); err != nil {
			return err
		}
		return stopUnless(visit(&c))
	})
}

func stopUnless(more bool) error {
	if more {
		return nil
	}
	return errStop
}

var notableGapQuery = expand("select ts, thread, next, dur, %s from gap where ts between ? and ? and notable = 1 order by ts")

var reachingGapQuery = expand("select ts, thread, next, dur, %s from gap where ts between ? and ? and ts + dur > ? order by ts")

// Reaching implements store.Reader.
func (r *Reader) Reaching(ctx context.Context, at uint64, call func(*event.Call) bool, gap func(*event.Gap) bool) error {
	if at == 0 {
		return nil
	}
	args := append(bounds(store.Window{From: at - min(at, uint64(store.Reach)), To: at}), int64(at))
	if err := r.calls(ctx, reachingQuery, args, call); err != nil {
		return err
	}
	return r.gaps(ctx, reachingGapQuery, args, gap)
}

// NotableGaps implements store.Reader.
func (r *Reader) NotableGaps(ctx context.Context, w store.Window, visit func(*event.Gap) bool) error {
	return r.gaps(ctx, notableGapQuery, bounds(w), visit)
}

func (r *Reader) gaps(ctx context.Context, query string, args []int64, visit func(*event.Gap) bool) error {
	var g event.Gap
	return r.rows(ctx, query, args, func(s *sqlite.Stmt) error {
		t, err := r.thread(ctx, s.ColumnInt64(1))
		if err != nil {
			return err
		}
		g = event.Gap{Start: uint64(s.ColumnInt64(0)), Duration: uint64(s.ColumnInt64(3)), Thread: t.Thread, Next: event.Op(s.ColumnInt64(2))}
		readLedger(s, 4, &g.Ledger)
		return stopUnless(visit(&g))
	})
}

const offCPUQuery = `select x.ts, x.thread, x.dur, x.runq, x.op, x.class, x.syscall, x.state, x.dispatch, x.followed,
	x.futex, x.holder, x.inode, x.waker, x.waker_futex, x.waker_syscall, x.out_cpu, x.in_cpu, x.idle, x.stack,
	u.thread, u.dur, %s
	from interval x left join culprit u on u.off_cpu = x.ts %s
	where x.ts between ? and ? order by x.ts, u.n`

// The query with what intervals waited for, and the one for recordings that lack it.
var (
	socketQuery   = fmt.Sprintf(offCPUQuery, "k.kind, k.lport, k.rport, k.remote, k.peer, k.bound", "left join socket k on k.ts = x.ts")
	noSocketQuery = fmt.Sprintf(offCPUQuery, "null, null, null, null, null, null", "")
)

// OffCPU implements store.Reader.
func (r *Reader) OffCPU(ctx context.Context, w store.Window, visit func(*event.OffCPU) bool) error {
	var o event.OffCPU // complete when the next interval begins
	stopped := false
	query := noSocketQuery
	if ok, err := r.has(ctx, "socket"); err != nil {
		return err
	} else if ok {
		query = socketQuery
	}
	err := r.rows(ctx, query, bounds(w), func(s *sqlite.Stmt) error {
		if ts := uint64(s.ColumnInt64(0)); ts != o.Start {
			if o.Start != 0 && !visit(&o) {
				stopped = true
				return errStop
			}
			if err := r.readOffCPU(ctx, s, &o); err != nil {
				return err
			}
		}
		if s.ColumnIsNull(20) {
			return nil
		}
		t, err := r.thread(ctx, s.ColumnInt64(20))
		o.Culprits = append(o.Culprits, event.Culprit{Thread: t.Thread, Comm: t.Comm, NS: uint64(s.ColumnInt64(21))})
		return err
	})
	if err == nil && !stopped && o.Start != 0 {
		visit(&o)
	}
	return err
}

func (r *Reader) readOffCPU(ctx context.Context, s *sqlite.Stmt, o *event.OffCPU) error {
	t, err := r.thread(ctx, s.ColumnInt64(1))
	if err != nil {
		return err
	}
	waker, err := r.thread(ctx, s.ColumnInt64(13))
	if err != nil {
		return err
	}
	addrs, err := r.stackAddrs(ctx, s.ColumnInt64(19))
	*o = event.OffCPU{
		Start: uint64(s.ColumnInt64(0)), Duration: uint64(s.ColumnInt64(2)), RunQueue: uint64(s.ColumnInt64(3)),
		Thread: t.Thread, Comm: t.Comm, Op: event.Op(s.ColumnInt64(4)), Class: event.Class(s.ColumnInt64(5)),
		Syscall: syscallOf(s, 6), State: uint8(s.ColumnInt64(7)),
		Dispatch: s.ColumnInt64(8) != 0, Followed: s.ColumnInt64(9) != 0,
		Futex: uint64(s.ColumnInt64(10)), Holder: uint32(s.ColumnInt64(11)), Inode: uint64(s.ColumnInt64(12)),
		Waker: waker.Thread, WakerComm: waker.Comm,
		WakerFutex: uint64(s.ColumnInt64(14)), WakerSyscall: syscallOf(s, 15),
		OutCPU: uint16(s.ColumnInt64(16)), InCPU: uint16(s.ColumnInt64(17)), IdleNS: uint64(s.ColumnInt64(18)),
		Culprits: o.Culprits[:0], Kernel: addrs, Socket: readSocket(s, 22),
	}
	return err
}

func syscallOf(s *sqlite.Stmt, i int) int16 {
	if s.ColumnIsNull(i) {
		return -1
	}
	return int16(s.ColumnInt64(i))
}

// ThreadTimes implements store.Reader.
func (r *Reader) ThreadTimes(ctx context.Context, w store.Window, visit func(*event.ThreadTime) bool) error {
	var tt event.ThreadTime
	return r.rows(ctx, "select * from thread_time where ts between ? and ? order by ts", bounds(w), func(s *sqlite.Stmt) error {
		t, err := r.thread(ctx, s.ColumnInt64(1))
		if err != nil {
			return err
		}
		tt = event.ThreadTime{
			At: uint64(s.ColumnInt64(0)), Thread: t.Thread, Comm: t.Comm, OnCPU: uint64(s.ColumnInt64(2)),
			Runtime: uint64(s.ColumnInt64(14)), Dispatch: s.ColumnInt64(15) != 0, Followed: s.ColumnInt64(16) != 0,
		}
		for c := range tt.NS {
			tt.NS[c] = uint64(s.ColumnInt64(3 + c))
		}
		return stopUnless(visit(&tt))
	})
}

// Lives implements store.Reader.
func (r *Reader) Lives(ctx context.Context, w store.Window) ([]event.Life, error) {
	var lives []event.Life
	err := r.rows(ctx, "select ts, kind, thread, parent, op, dur from life where ts between ? and ? order by ts", bounds(w), func(s *sqlite.Stmt) error {
		t, err := r.thread(ctx, s.ColumnInt64(2))
		if err != nil {
			return err
		}
		parent, err := r.thread(ctx, s.ColumnInt64(3))
		lives = append(lives, event.Life{
			At: uint64(s.ColumnInt64(0)), Kind: event.LifeKind(s.ColumnInt64(1)), Thread: t.Thread, Comm: t.Comm,
			Parent: parent.Thread, Op: event.Op(s.ColumnInt64(4)), Duration: uint64(s.ColumnInt64(5)),
		})
		return err
	})
	return lives, err
}

// Throttles implements store.Reader.
func (r *Reader) Throttles(ctx context.Context, w store.Window) ([]store.Throttle, error) {
	var out []store.Throttle
	quota := "null, null, null" // recordings before schema 16
	if ok, err := r.hasColumn(ctx, "throttle", "quota_us"); err != nil {
		return nil, err
	} else if ok {
		quota = "h.quota_us, h.period_us, h.version"
	}
	err := r.rows(ctx, "select h.ts, g.path, h.periods, h.ns, "+quota+` from throttle h left join cgroup g on g.id = h.cgroup
		where h.ts between ? and ? order by h.ts`, bounds(w), func(s *sqlite.Stmt) error {
		out = append(out, store.Throttle{
			At: uint64(s.ColumnInt64(0)), Cgroup: s.ColumnText(1),
			Periods: uint64(s.ColumnInt64(2)), NS: uint64(s.ColumnInt64(3)),
			QuotaUS: uint64(s.ColumnInt64(4)), PeriodUS: uint64(s.ColumnInt64(5)), Version: uint8(s.ColumnInt64(6)),
		})
		return nil
	})
	return out, err
}

// Stalls implements store.Reader.
func (r *Reader) Stalls(ctx context.Context, w store.Window) ([]event.Stall, error) {
	var out []event.Stall
	err := r.rows(ctx, "select ts, dur, cpu from stall where ts between ? and ? order by ts", bounds(w), func(s *sqlite.Stmt) error {
		out = append(out, event.Stall{Start: uint64(s.ColumnInt64(0)), Duration: uint64(s.ColumnInt64(1)), CPU: uint16(s.ColumnInt64(2))})
		return nil
	})
	return out, err
}

// Snapshots implements store.Reader.
func (r *Reader) Snapshots(ctx context.Context, w store.Window) ([]store.Snapshot, error) {
	var out []store.Snapshot
	err := r.rows(ctx, "select * from snapshot where ts between ? and ? order by ts", bounds(w), func(s *sqlite.Stmt) error {
		n := store.Snapshot{
			At: uint64(s.ColumnInt64(0)), CPUPct: s.ColumnFloat(1), MemPct: s.ColumnFloat(2),
			MemAvailableMB: uint64(s.ColumnInt64(3)), SwapMB: uint64(s.ColumnInt64(4)), Load: s.ColumnFloat(5), StealPct: s.ColumnFloat(6),
		}
		if s.ColumnCount() > 7 { // else of an older schema
			n.Pressure = store.Pressure{CPU: s.ColumnFloat(7), Memory: s.ColumnFloat(8), MemoryFull: s.ColumnFloat(9), IO: s.ColumnFloat(10), IOFull: s.ColumnFloat(11)}
		}
		if s.ColumnCount() > 13 { // the same
			n.SwapIn, n.SwapOut = uint64(s.ColumnInt64(13)), uint64(s.ColumnInt64(14))
		}
		if s.ColumnCount() > 15 { // the same
			b := make([]byte, s.ColumnLen(15))
			s.ColumnBytes(15, b)
			n.CPUs = store.CPUBusy(b)
		}
		out = append(out, n)
		return nil
	})
	return out, err
}
