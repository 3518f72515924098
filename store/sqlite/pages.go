package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

func (w *Writer) insertPages(p *event.PageSum) error {
	b := w.ins.pages
	if p.PID == 0 {
		b.null(2)
	} else {
		b.set(2, w.threads.get(event.Thread{PID: p.PID, TID: p.PID}, p.Comm).id)
	}
	b.set(3, int64(p.Allocations))
	b.set(4, int64(p.Pages))
	b.set(5, int64(p.Bytes))
	b.opt(6, int64(p.NoWaitBytes))
	b.opt(7, int64(p.Failed))
	b.set(8, w.session.id)
	w.txRows++
	_, err := b.runAt(p.At)
	return err
}

func (r *Reader) pages(ctx context.Context, w store.Window, h *store.HostIO) error {
	const query = "select ts, thread, allocs, pages, bytes, nowait, failed from page_second where ts between ? and ? order by ts"
	return r.optional(ctx, "page_second", query, bounds(w), func(s *sqlite.Stmt) error {
		i := func(n int) uint64 { return uint64(s.ColumnInt64(n)) }
		p := event.PageSum{At: i(0), Allocations: i(2), Pages: i(3), Bytes: i(4), NoWaitBytes: i(5), Failed: i(6)}
		if !s.ColumnIsNull(1) {
			t, err := r.thread(ctx, s.ColumnInt64(1))
			if err != nil {
				return err
			}
			p.PID, p.Comm = t.PID, t.Comm
		}
		h.Pages = append(h.Pages, p)
		return nil
	})
}
