package sqlite

import (
	"context"
	"net/netip"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// connectionKind is events on TCP connections.
var connectionKind = &kind[event.Connection]{
	tables:     []table{{name: "tcp", prune: "ts", unsaid: true}},
	rows:       func(t *store.Tables) *[]event.Connection { return &t.Connections },
	statements: []string{"insert into tcp values (" + values(15) + ")"},
	insert: func(w *Writer, s []*boundStmt, c *event.Connection) error {
		w.session.count(c.At, c.At, 0)
		b := s[0]
		w.setThread(b, 2, c.Thread, c.Comm, c.At)
		b.set(3, int64(c.Op))
		b.opt(4, int64(c.Duration))
		b.text(5, netip.AddrFrom16(c.Local).Unmap().String())
		b.opt(6, int64(c.LocalPort))
		b.text(7, netip.AddrFrom16(c.Remote).Unmap().String())
		b.opt(8, int64(c.RemotePort))
		b.opt(9, int64(c.State))
		b.opt(10, int64(c.Error))
		b.opt(11, int64(c.Bytes))
		b.opt(12, int64(c.Retrans))
		b.opt(13, int64(c.RTT))
		b.opt(14, int64(c.MinRTT))
		b.set(15, w.session.id)
		_, err := b.runAt(c.At)
		return err
	},
	query: `select ts, thread, op, dur, local, lport, remote, rport, state, error, bytes, retrans, rtt, min_rtt
		from tcp where ts between ? and ? order by ts`,
	scan: scanConnection,
}

func scanConnection(ctx context.Context, r *Reader, s *sqlite.Stmt) (event.Connection, error) {
	i := func(n int) uint64 { return number(s, n) }
	c := event.Connection{
		At: i(0), Op: event.Op(i(2)), Duration: i(3), LocalPort: uint16(i(5)), RemotePort: uint16(i(7)), State: uint8(i(8)),
		Error: int32(i(9)), Bytes: uint32(i(10)), Retrans: uint32(i(11)), RTT: uint32(i(12)), MinRTT: uint32(i(13)),
	}
	for n, to := range map[int]*[16]byte{4: &c.Local, 6: &c.Remote} {
		if a, err := netip.ParseAddr(s.ColumnText(n)); err == nil {
			*to = a.As16()
		}
	}
	if s.ColumnIsNull(1) {
		return c, nil
	}
	t, err := r.thread(ctx, s.ColumnInt64(1))
	c.Thread, c.Comm = t.Thread, t.Comm
	return c, err
}
