package sqlite

import (
	"context"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// flightColumns is the number of columns of in_flight before the times by class, flightAfter of those behind them.
const (
	flightColumns = 22
	flightAfter   = 3
)

// inFlightKind is calls that did not return for a second or more, as last seen.
var inFlightKind = &kind[event.InFlight]{
	tables: []table{{
		name: "in_flight", prune: "max(seen, coalesce(end_ns, 0))",
		refs: map[string]string{"holder": "thread", "kernel": "stack", "peer": "thread"},
	}},
	rows: func(t *store.Tables) *[]event.InFlight { return &t.InFlight },
	hold: latestOfCall,
	statements: []string{
		"insert or replace into in_flight values (" + values(flightColumns+int(event.NumClasses)+flightAfter) + ")",
	},
	insert: insertInFlight,
	query: `select f.*, a.a0, a.a1, a.a2, a.a3 from in_flight f left join args a on a.id = f.args
		where max(f.seen, coalesce(f.end_ns, 0)) >= ?1 and f.start <= ?2 order by f.start, f.thread`,
	scan: scanInFlight,
}

// latestOfCall holds the last reading of each call.
func latestOfCall(held []event.InFlight, f *event.InFlight) []event.InFlight {
	row := *f
	row.Kernel = slices.Clone(f.Kernel)
	for i := range held {
		if held[i].Thread == f.Thread && held[i].Start == f.Start {
			held[i] = row
			return held
		}
	}
	return append(held, row)
}

func insertInFlight(w *Writer, s []*boundStmt, f *event.InFlight) error {
	w.session.count(f.Start, max(f.At, f.End), 0)
	existed := f.Start
	if f.Op == 0 { // who keeps another one may be younger than what it keeps
		existed = f.At
	}
	b := s[0]
	b.set(1, w.session.id)
	b.set(2, int64(f.TID))
	b.set(3, w.threads.get(f.Thread, f.Comm, existed).id)
	b.set(4, int64(f.Start))
	b.set(5, int64(f.At))
	b.set(6, int64(f.Op))
	b.opt(7, int64(f.Inner))
	b.opt(8, w.argsID(&f.Args))
	if f.GPU == event.NoGPU {
		b.null(9)
	} else {
		b.set(9, int64(f.GPU))
	}
	b.set(10, int64(f.Doing))
	b.opt(11, int64(f.Since))
	if f.Doing == event.Blocked {
		b.set(12, int64(f.Class))
	} else {
		b.null(12)
	}
	b.opt(13, int64(f.Futex))
	if f.Holder == (event.Thread{}) {
		b.null(14)
	} else {
		b.set(14, w.threads.within(f.Holder, f.HolderComm, 0, f.At).id)
	}
	syscallOrNull(b, 15, f.Syscall)
	b.opt(16, int64(f.Inode))
	if f.File == "" {
		b.null(17)
	} else {
		b.text(17, f.File)
	}
	b.opt(18, int64(f.OnCPU))
	b.opt(19, w.stackID(f.Stack))
	b.opt(20, w.kernelStack(f.Kernel))
	b.opt(21, int64(f.Outcome))
	b.opt(22, int64(f.End))
	for c, ns := range f.NS {
		b.opt(flightColumns+1+c, int64(ns))
	}
	after := flightColumns + int(event.NumClasses)
	b.flag(after+1, f.Silent)
	if f.Peer == (event.Thread{}) {
		b.null(after + 2)
	} else {
		b.set(after+2, w.threads.within(f.Peer, f.PeerComm, 0, f.At).id)
	}
	b.flag(after+3, f.Stuck)
	return b.runStmt()
}

func scanInFlight(ctx context.Context, r *Reader, s *sqlite.Stmt) (f event.InFlight, err error) {
	i := func(n int) uint64 { return number(s, n) }
	t, err := r.thread(ctx, s.ColumnInt64(2))
	if err != nil {
		return f, err
	}
	f = event.InFlight{
		Thread: t.Thread, Comm: t.Comm, Start: i(3), At: i(4), Op: event.Op(i(5)), Inner: event.Op(i(6)), GPU: event.NoGPU,
		Doing: event.Doing(i(9)), Since: i(10), Class: event.Class(i(11)), Futex: i(12), Syscall: -1, Inode: i(15),
		File: s.ColumnText(16), OnCPU: i(17), Outcome: event.Outcome(i(20)), End: i(21),
	}
	if s.ColumnType(8) != sqlite.TypeNull {
		f.GPU = int8(i(8))
	}
	if s.ColumnType(13) != sqlite.TypeNull {
		h, err := r.thread(ctx, s.ColumnInt64(13))
		if err != nil {
			return f, err
		}
		f.Holder, f.HolderComm = h.Thread, h.Comm
	}
	if s.ColumnType(14) != sqlite.TypeNull {
		f.Syscall = int16(i(14))
	}
	for c := range f.NS {
		f.NS[c] = i(flightColumns + c)
	}
	const after = flightColumns + int(event.NumClasses)
	f.Silent, f.Stuck = i(after) != 0, i(after+2) != 0
	if s.ColumnType(after+1) != sqlite.TypeNull {
		p, err := r.thread(ctx, s.ColumnInt64(after+1))
		if err != nil {
			return f, err
		}
		f.Peer, f.PeerComm = p.Thread, p.Comm
	}
	for n := range f.Args {
		f.Args[n] = i(after + flightAfter + n)
	}
	if f.Kernel, err = r.stackAddrs(ctx, s.ColumnInt64(19)); err != nil {
		return f, err
	}
	f.Stack, err = r.stackHash(ctx, s.ColumnInt64(18))
	return f, err
}
