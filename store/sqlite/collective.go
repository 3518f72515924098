package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// collectiveKind is the ranks' parts in collective operations.
var collectiveKind = &kind[event.Collective]{
	tables:     []table{{name: "collective", prune: "ts"}},
	rows:       func(t *store.Tables) *[]event.Collective { return &t.Collectives },
	statements: []string{"insert into collective values (" + values(21) + ")"},
	insert:     insertCollective,
	query:      "select * from collective where ts between ? and ? order by ts",
	scan: func(ctx context.Context, r *Reader, s *sqlite.Stmt) (event.Collective, error) {
		t, err := r.thread(ctx, s.ColumnInt64(1))
		i := func(n int) uint64 { return number(s, n) }
		return event.Collective{
			At: i(0), Thread: t.Thread, Op: event.Op(i(2)), Start: i(3), Duration: i(4), Ret: int32(i(5)),
			Comm: i(6), CommID: i(7), Rank: orMinusOne(s, 8), Ranks: int32(i(9)), Seq: uint32(i(10)),
			Bytes: i(11), DataType: uint8(i(12)), ReduceOp: uint8(i(13)), Peer: orMinusOne(s, 14),
			Stream: i(15), Group: i(16), SyncOp: event.Op(i(17)), SyncTID: uint32(i(18)),
			SyncStart: i(19), SyncEnd: i(19) + i(20),
		}, err
	},
}

func insertCollective(w *Writer, s []*boundStmt, c *event.Collective) error {
	w.session.count(c.At, max(c.At, c.SyncEnd), 0)
	b := s[0]
	b.set(2, w.threads.get(c.Thread, "", c.Start).id)
	b.set(3, int64(c.Op))
	b.set(4, int64(c.Start))
	b.set(5, int64(c.Duration))
	b.opt(6, int64(c.Ret))
	b.set(7, int64(c.Comm))
	b.opt(8, int64(c.CommID))
	b.null(9)
	if c.Rank >= 0 {
		b.set(9, int64(c.Rank))
	}
	b.opt(10, int64(c.Ranks))
	b.opt(11, int64(c.Seq))
	b.opt(12, int64(c.Bytes))
	b.opt(13, int64(c.DataType))
	b.opt(14, int64(c.ReduceOp))
	b.null(15)
	if c.Peer >= 0 {
		b.set(15, int64(c.Peer))
	}
	b.opt(16, int64(c.Stream))
	b.opt(17, int64(c.Group))
	b.opt(18, int64(c.SyncOp))
	b.opt(19, int64(c.SyncTID))
	b.opt(20, int64(c.SyncStart))
	b.opt(21, int64(c.SyncEnd-c.SyncStart))
	_, err := b.runAt(c.At)
	return err
}

// orMinusOne is a column's number, -1 for null.
func orMinusOne(s *sqlite.Stmt, i int) int32 {
	if s.ColumnType(i) == sqlite.TypeNull {
		return -1
	}
	return int32(s.ColumnInt64(i))
}
