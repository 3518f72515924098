package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

func (w *Writer) insertScheduling(s *store.Scheduling) error {
	w.txRows++
	return exec(w.conn, "insert or replace into scheduling values (?, ?, ?, ?, ?, ?)",
		w.session.id, int64(s.PID), int64(s.TID), int64(s.Policy), int64(s.Nice), int64(s.Realtime))
}

// Scheduling implements store.Reader.
func (r *Reader) Scheduling(ctx context.Context) ([]store.Scheduling, error) {
	var out []store.Scheduling
	const query = "select pid, tid, policy, nice, realtime from scheduling order by session, pid, tid"
	err := r.optional(ctx, "scheduling", query, nil, func(s *sqlite.Stmt) error {
		out = append(out, store.Scheduling{
			Thread: event.Thread{PID: uint32(s.ColumnInt64(0)), TID: uint32(s.ColumnInt64(1))},
			Policy: store.Policy(s.ColumnInt64(2)), Nice: int8(s.ColumnInt64(3)), Realtime: uint8(s.ColumnInt64(4)),
		})
		return nil
	})
	return out, err
}

// loadNodes adds the memory nodes of each session's machine.
func (r *Reader) loadNodes(ctx context.Context, sessions []store.Session) error {
	return r.optional(ctx, "memory_node", "select session, cpus from memory_node order by session, node", nil, func(s *sqlite.Stmt) error {
		for i := range sessions {
			if sessions[i].ID == s.ColumnInt64(0) {
				sessions[i].Nodes = append(sessions[i].Nodes, s.ColumnText(1))
			}
		}
		return nil
	})
}
