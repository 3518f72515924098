package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// requestKind is single requests to block devices. Only SQL reads them; the sums cover all of them.
var requestKind = &kind[event.Request]{
	tables:     []table{{name: "request", prune: "ts"}},
	rows:       func(t *store.Tables) *[]event.Request { return &t.Requests },
	statements: []string{"insert into request values (" + values(12) + ")"},
	insert: func(w *Writer, s []*boundStmt, r *event.Request) error {
		w.session.count(r.Start, r.End(), 0)
		b := s[0]
		b.set(2, w.threads.get(r.Thread, r.Comm, r.Start).id)
		b.set(3, int64(r.Op))
		b.set(4, int64(r.Device))
		b.set(5, int64(r.Duration))
		b.opt(6, int64(r.Queue))
		b.opt(7, int64(r.Sector))
		b.opt(8, int64(r.Bytes))
		b.opt(9, int64(r.Flags))
		b.opt(10, int64(r.Inode))
		b.opt(11, int64(r.By))
		b.opt(12, int64(r.Error))
		_, err := b.runAt(r.Start)
		return err
	},
}

// requestSumKind is their sums, by process and second.
var requestSumKind = &kind[event.RequestSum]{
	tables:     []table{{name: "request_second", prune: "ts"}},
	rows:       func(t *store.Tables) *[]event.RequestSum { return &t.RequestSums },
	statements: []string{"insert into request_second values (" + values(11) + ")"},
	insert: func(w *Writer, st []*boundStmt, s *event.RequestSum) error {
		b := st[0]
		b.set(2, int64(s.At))
		b.set(3, w.threads.get(event.Thread{PID: s.PID, TID: s.PID}, s.Comm, 0).id)
		b.set(4, int64(s.Op))
		b.set(5, int64(s.Device))
		b.set(6, int64(s.Requests))
		for n, v := range []uint64{s.Errors, s.Bytes, s.QueueNS, s.DeviceNS, s.MaxNS} {
			b.opt(7+n, int64(v))
		}
		_, err := b.runAt(s.At)
		return err
	},
	query: `select second, thread, op, dev, requests, errors, bytes, queue, device, max
		from request_second where ts between ?1 - 1000000000 and ?2 order by ts`, // it is stored under the second's start
	scan: func(ctx context.Context, r *Reader, s *sqlite.Stmt) (event.RequestSum, error) {
		i := func(n int) uint64 { return number(s, n) }
		t, err := r.thread(ctx, s.ColumnInt64(1))
		return event.RequestSum{
			At: i(0), PID: t.PID, Comm: t.Comm, Op: event.Op(i(2)), Device: event.Device(i(3)),
			Requests: i(4), Errors: i(5), Bytes: i(6), QueueNS: i(7), DeviceNS: i(8), MaxNS: i(9),
		}, err
	},
}
