package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

// rankEventKind is what a fleet said of the ranks on this node.
var rankEventKind = &kind[store.RankEvent]{
	tables: []table{{name: "rank_event", prune: "ts"}},
	rows:   func(t *store.Tables) *[]store.RankEvent { return &t.RankEvents },
	hold:   keepEach[store.RankEvent],
	insert: func(w *Writer, _ []*boundStmt, e *store.RankEvent) error {
		w.session.count(e.At, e.At, 0) // a recording may end with it
		var rank any                   // null: all
		if e.Rank >= 0 {
			rank = int64(e.Rank)
		}
		return exec(w.conn, `insert into rank_event
			select max(?1, coalesce(1 + (select max(ts) from rank_event where ts >= ?1), 0)), ?2, ?3, ?4, nullif(?5, 0), ?6,
				nullif(?7, 0), nullif(?8, ''), nullif(?9, ''), nullif(?10, ''), ?11, nullif(?12, 0), nullif(?13, 0),
				nullif(?14, 0), nullif(?15, 0), nullif(?16, ''), nullif(?17, ''), nullif(?18, 0), ?19, ?20`,
			int64(e.At), w.session.id, e.Type, e.ID, int64(e.PID), rank, int64(e.Ranks), e.Cohort, e.Cluster, e.Mode,
			e.Resolved, int64(e.Since), int64(e.OwnNS), int64(e.PeerNS), int64(e.StepNS), e.Cause, e.Culprit,
			int64(e.CauseNS), e.Explained, e.Summary)
	},
	view: `create view rank_events as
select e.ts as timestamp, s.node, e.type, e.event_id, e.rank, e.ranks, e.pid,
  (select p.name from process p where p.pid = e.pid and p.session = e.session) as comm, e.resolved, e.since, e.own_ns,
  e.peer_ns, e.step_ns, e.cause, e.culprit, e.cause_ns, e.explained, e.mode, e.cohort, e.cluster, e.summary
from rank_event e join session s on s.id = e.session;`,
	query: `select ts, type, event_id, pid, coalesce(rank, -1), ranks, cohort, cluster, mode, resolved, since, own_ns,
		peer_ns, step_ns, cause, culprit, cause_ns, explained, summary from rank_event where ts between ? and ? order by ts`,
	scan: func(_ context.Context, _ *Reader, s *sqlite.Stmt) (store.RankEvent, error) {
		return store.RankEvent{
			At: number(s, 0), Type: s.ColumnText(1), ID: s.ColumnText(2), PID: uint32(s.ColumnInt64(3)),
			Rank: int32(s.ColumnInt64(4)), Ranks: int32(s.ColumnInt64(5)), Cohort: s.ColumnText(6), Cluster: s.ColumnText(7),
			Mode: s.ColumnText(8), Resolved: s.ColumnBool(9), Since: number(s, 10), OwnNS: number(s, 11),
			PeerNS: number(s, 12), StepNS: number(s, 13), Cause: s.ColumnText(14), Culprit: s.ColumnText(15),
			CauseNS: number(s, 16), Explained: s.ColumnFloat(17), Summary: s.ColumnText(18),
		}, nil
	},
}
