package sqlite

import (
	"context"
	"fmt"
	"net/netip"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// offCPUKind is off-CPU intervals, with the threads that ran meanwhile and the socket that was
// waited for.
var offCPUKind = &kind[event.OffCPU]{
	tables: []table{
		{name: "interval", initial: true, prune: "ts", refs: map[string]string{"waker": "thread"}},
		{name: "culprit", initial: true, prune: "off_cpu", parent: "interval", key: "off_cpu"},
		{name: "socket", prune: "ts", parent: "interval", key: "ts"},
	},
	rows: func(t *store.Tables) *[]event.OffCPU { return &t.OffCPU },
	statements: []string{
		"insert into interval values (" + values(20) + ")",
		"insert or replace into culprit values (?, ?, ?, ?)",
		"insert or replace into socket values (" + values(7) + ")",
	},
	insert: insertOffCPU,
}

func insertOffCPU(w *Writer, s []*boundStmt, o *event.OffCPU) error {
	end := o.Start + o.Duration
	w.session.count(o.Start, end, 0)
	b := s[0]
	b.set(2, w.threads.get(o.Thread, o.Comm, o.Start).id)
	b.set(3, int64(o.Duration))
	b.opt(4, int64(o.RunQueue))
	b.opt(5, int64(o.Op))
	b.set(6, int64(o.Class))
	syscallOrNull(b, 7, o.Syscall)
	b.opt(8, int64(o.State))
	b.flag(9, o.Dispatch)
	b.flag(10, o.Followed)
	b.opt(11, int64(o.Futex))
	b.opt(12, int64(o.Holder))
	b.opt(13, int64(o.Inode))
	if o.Waker == (event.Thread{}) && o.WakerComm == "" {
		b.null(14)
	} else {
		b.set(14, w.threads.bornAt(o.Waker, o.WakerComm, w.unixOf(o.WakerBorn), end, end).id)
	}
	b.opt(15, int64(o.WakerFutex))
	syscallOrNull(b, 16, o.WakerSyscall)
	b.opt(17, int64(o.OutCPU))
	b.opt(18, int64(o.InCPU))
	b.opt(19, int64(o.IdleNS))
	b.opt(20, w.kernelStack(o.Kernel))
	ts, err := b.runAt(o.Start)
	if err != nil {
		return err
	}
	if o.Socket.Kind != 0 {
		w.txRows++
		if err := insertSocket(s[2], ts, &o.Socket); err != nil {
			return err
		}
	}
	for n := range o.Culprits {
		c, b := &o.Culprits[n], s[1]
		b.set(1, int64(ts))
		b.set(2, int64(n))
		b.set(3, w.threads.bornAt(c.Thread, c.Comm, w.unixOf(c.Born), o.Start, end).id)
		b.set(4, int64(c.NS))
		if err := b.runStmt(); err != nil {
			return err
		}
	}
	return nil
}

func syscallOrNull(b *boundStmt, i int, n int16) {
	if n < 0 {
		b.null(i)
		return
	}
	b.set(i, int64(n))
}

// insertSocket adds the socket that the interval with the key ts waited for.
func insertSocket(b *boundStmt, ts uint64, s *event.Socket) error {
	b.set(1, int64(ts))
	b.set(2, int64(s.Kind))
	b.opt(3, int64(s.LocalPort))
	b.opt(4, int64(s.RemotePort))
	if s.RemotePort == 0 {
		b.null(5)
	} else {
		b.text(5, s.Addr())
	}
	b.opt(6, int64(s.Peer))
	b.flag(7, s.Bound)
	return b.runStmt()
}

const offCPUQuery = `select x.ts, x.thread, x.dur, x.runq, x.op, x.class, x.syscall, x.state, x.dispatch, x.followed,
	x.futex, x.holder, x.inode, x.waker, x.waker_futex, x.waker_syscall, x.out_cpu, x.in_cpu, x.idle, x.stack,
	u.thread, u.dur, %s
	from interval x left join culprit u on u.off_cpu = x.ts %s
	where x.ts between ? and ? order by x.ts, u.n`

// The query with the sockets, and the one for recordings without them.
var (
	socketQuery = fmt.Sprintf(offCPUQuery, "k.kind, k.lport, k.rport, k.remote, k.peer, k.bound",
		"left join socket k on k.ts = x.ts")
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

// readSocket reads a socket from column i on; nothing if the columns are null.
func readSocket(s *sqlite.Stmt, i int) event.Socket {
	k := event.Socket{
		Kind: event.SocketKind(s.ColumnInt64(i)), LocalPort: uint16(s.ColumnInt64(i + 1)),
		RemotePort: uint16(s.ColumnInt64(i + 2)),
		Peer:       uint32(s.ColumnInt64(i + 4)), Bound: s.ColumnInt64(i+5) != 0,
	}
	if s.ColumnType(i+3) == sqlite.TypeText {
		if a, err := netip.ParseAddr(s.ColumnText(i + 3)); err == nil {
			k.Remote = a.As16()
		}
	}
	return k
}
