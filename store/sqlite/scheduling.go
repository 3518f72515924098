package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

func (w *Writer) insertScheduling(s *store.Scheduling) error {
	w.txRows++
	return exec(w.conn, "insert or replace into scheduling values (?, ?, ?, ?, ?, ?, ?)",
		w.session.id, int64(s.PID), int64(s.TID), int64(s.Policy), int64(s.Nice), int64(s.Realtime), nullText(s.CPUs))
}

// Scheduling implements store.Reader.
func (r *Reader) Scheduling(ctx context.Context) ([]store.Scheduling, error) {
	var out []store.Scheduling
	const query = "select * from scheduling order by session, pid, tid"
	err := r.optional(ctx, "scheduling", query, nil, func(s *sqlite.Stmt) error {
		v := store.Scheduling{
			Thread: event.Thread{PID: uint32(s.ColumnInt64(1)), TID: uint32(s.ColumnInt64(2))},
			Policy: store.Policy(s.ColumnInt64(3)), Nice: int8(s.ColumnInt64(4)), Realtime: uint8(s.ColumnInt64(5)),
		}
		if s.ColumnCount() > 6 { // else of an older schema
			v.CPUs = s.ColumnText(6)
		}
		out = append(out, v)
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
