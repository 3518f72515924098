package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/capture/host/framework"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/store"
)

// Summary implements store.Reader.
func (r *Reader) Summary(ctx context.Context) (store.Summary, error) {
	sum := store.Summary{Schema: schemaVersion}
	var pruned uint64
	boot, err := r.bootColumn(ctx)
	if err != nil {
		return sum, err
	}
	err = r.rows(ctx,
		`select id, node, host, kernel, arch, cpus, memory, version, backend, flags, tracer, started_ns, stopped_ns,
		first_ns, last_ns, calls, stored, pruned, `+boot+`, flushed_ns from session
		order by id`, nil, func(s *sqlite.Stmt) error {
			i := func(n int) uint64 { return uint64(s.ColumnInt64(n)) }
			sum.Sessions = append(sum.Sessions, store.Session{
				ID: s.ColumnInt64(0), Node: s.ColumnText(1), Host: s.ColumnText(2), Kernel: s.ColumnText(3), Arch: s.ColumnText(4),
				CPUs: int(s.ColumnInt64(5)), Memory: i(6), Version: s.ColumnText(7), Backend: s.ColumnText(8),
				Flags: s.ColumnText(9),
				PID:   uint32(i(10)), Started: i(11), Stopped: i(12), Boot: s.ColumnText(18), Flushed: i(19),
			})
			sum.Node = s.ColumnText(1)
			if first := i(13); first != 0 && (sum.First == 0 || first < sum.First) {
				sum.First = first
			}
			sum.Last = max(sum.Last, i(14))
			sum.Calls += i(15)
			sum.Stored += i(16)
			pruned += i(17)
			return nil
		})
	if err != nil {
		return sum, err
	}
	if err := r.loadNodes(ctx, sum.Sessions); err != nil {
		return sum, err
	}
	sum.Stored -= min(pruned, sum.Stored)
	sum.Losses, err = r.losses(ctx)
	return sum, err
}

// bootColumn is the column of session with the boot id. Recordings before schema 13 have none.
func (r *Reader) bootColumn(ctx context.Context) (column string, err error) {
	column = "''"
	err = r.rows(ctx, "select 1 from pragma_table_info('session') where name = 'boot'", nil, func(*sqlite.Stmt) error {
		column = "boot"
		return nil
	})
	return column, err
}

// losses returns the number of dropped records, by kind, non-zero only.
func (r *Reader) losses(ctx context.Context) (list []event.Loss, err error) {
	err = r.rows(ctx, "select kind, sum(count) from loss group by kind order by kind", nil, func(s *sqlite.Stmt) error {
		list = append(list, event.Loss{Kind: event.LossKind(s.ColumnInt64(0)), Count: uint64(s.ColumnInt64(1))})
		return nil
	})
	return list, err
}

// lossSeconds is what could not be recorded, by second.
func (r *Reader) lossSeconds(ctx context.Context, w store.Window) (list []store.Loss, err error) {
	const query = `select second * 1000000000, kind, sum(count) from loss
		where second between ?1 / 1000000000 and ?2 / 1000000000 group by second, kind order by second, kind`
	err = r.optional(ctx, "loss", query, bounds(w), func(s *sqlite.Stmt) error {
		list = append(list, store.Loss{At: number(s, 0), Loss: event.Loss{
			Kind: event.LossKind(s.ColumnInt64(1)), Count: number(s, 2),
		}})
		return nil
	})
	return list, err
}

// processes returns the described ones in their latest state, and those known only
// by the names of their threads.
func (r *Reader) processes(ctx context.Context, w store.Window) ([]store.Process, error) {
	found := make(map[uint32]store.Process)
	type life struct{ from, to int64 }
	during := make(map[uint32]life) // by process, the session whose description is used
	by := "null"                    // recordings before schema 17
	if ok, err := r.hasColumn(ctx, "process", "framework"); err != nil {
		return nil, err
	} else if ok {
		by = "p.framework"
	}
	err := r.eachProcess(ctx, w, `select p.pid, p.parent, p.name, p.command, g.path, p.rank, p.local_rank, p.world_size,
		p.traced, s.started_ns, max(s.stopped_ns, s.flushed_ns, s.last_ns), `+by+`
		from process p left join cgroup g on g.id = p.cgroup left join session s on s.id = p.session`,
		func(s *sqlite.Stmt) error {
			p := store.Process{
				PID: uint32(s.ColumnInt64(0)), Parent: uint32(s.ColumnInt64(1)), Name: s.ColumnText(2), Command: s.ColumnText(3),
				Cgroup: s.ColumnText(4), Rank: orMinus(s, 5), LocalRank: orMinus(s, 6), WorldSize: orMinus(s, 7),
				Traced: s.ColumnInt64(8) != 0, Framework: framework.Name(s.ColumnText(11)),
			}
			// Of tracers that ran at the same time, the one that traced it has the best data.
			in := life{s.ColumnInt64(9), s.ColumnInt64(10)}
			if o := during[p.PID]; found[p.PID].Traced && !p.Traced && in.from < o.to && o.from < in.to {
				return nil
			}
			found[p.PID], during[p.PID] = p, in
			return nil
		})
	if err != nil {
		return nil, err
	}
	owners, err := r.owners(ctx, w)
	if err != nil {
		return nil, err
	}
	for pid, p := range found {
		p.Owner = owners[pid]
		found[pid] = p
	}
	worker := map[uint32]bool{} // its name is that of a thread, as that of its first thread is not known so far
	err = r.loadThreads(ctx, w, func(t *threadOfID) {
		p, ok := found[t.PID]
		if !ok {
			p = store.Process{PID: t.PID, Rank: -1, LocalRank: -1, WorldSize: -1}
		}
		if main := t.PID == t.TID; p.Name == "" || main && t.Comm != "" && worker[t.PID] {
			p.Name = t.Comm
			worker[t.PID] = !main
		}
		found[t.PID] = p
	})
	out := make([]store.Process, 0, len(found))
	for _, p := range found {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b store.Process) int { return cmp.Compare(a.PID, b.PID) })
	return out, err
}

func orMinus(s *sqlite.Stmt, i int) int {
	if s.ColumnIsNull(i) {
		return -1
	}
	return int(s.ColumnInt64(i))
}

// threads returns each thread once, under its latest name.
func (r *Reader) threads(ctx context.Context, w store.Window) ([]store.ThreadInfo, error) {
	found := make(map[event.Thread]store.ThreadInfo)
	err := r.loadThreads(ctx, w, func(row *threadOfID) {
		t := row.ThreadInfo
		old := found[t.Thread]
		t.Dispatch = t.Dispatch || old.Dispatch
		if t.Comm == "" {
			t.Comm = old.Comm
		}
		found[t.Thread] = t
	})
	out := make([]store.ThreadInfo, 0, len(found))
	for _, t := range found {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b store.ThreadInfo) int { return compareThreads(a.Thread, b.Thread) })
	return out, err
}

func compareThreads(a, b event.Thread) int {
	return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID))
}

// CallsIn counts the calls of the whole seconds that a window touches, including thinned ones.
// Calls within others are left out if the recording marks them.
func (r *Reader) CallsIn(ctx context.Context, w store.Window) (n uint64, err error) {
	query := "select coalesce(sum(calls), 0) from call_second where id between ? and ?"
	if ok, err := r.hasColumn(ctx, "call_second", "nested"); err != nil {
		return 0, err
	} else if ok {
		query += " and nested is not 1"
	}
	err = r.rows(ctx, query, seconds(w), func(s *sqlite.Stmt) error {
		n = uint64(s.ColumnInt64(0))
		return nil
	})
	return n, err
}

var opStatQuery = "select thread, op, calls, errors, sum, max, bytes, first, last, " + ledgerColumns + ", hist, id, "

type opStatKey struct {
	event.Thread
	op event.Op
}

// opStats adds up the statistics of seconds. The window grows to whole seconds.
func (r *Reader) opStats(ctx context.Context, w store.Window) ([]store.OpStat, error) {
	found := make(map[opStatKey]*store.OpStat)
	err := r.OpSeconds(ctx, w, func(_ uint64, x *store.OpStat) bool {
		o := opStatOf(found, opStatKey{x.Thread, x.Op})
		first := o.Calls == 0
		o.Calls += x.Calls
		o.Errors += x.Errors
		o.SumNS += x.SumNS
		o.MaxNS = max(o.MaxNS, x.MaxNS)
		o.Bytes += x.Bytes
		o.First = min(o.First, x.First)
		o.Last = max(o.Last, x.Last)
		o.Ledger.Add(&x.Ledger)
		o.Hist.Merge(x.Hist)
		o.NestedKnown = x.NestedKnown && (o.NestedKnown || first)
		o.Nested.Add(&x.Nested)
		return true
	})
	out := make([]store.OpStat, 0, len(found))
	for _, o := range found {
		out = append(out, *o)
	}
	slices.SortFunc(out, func(a, b store.OpStat) int {
		return cmp.Or(compareThreads(a.Thread, b.Thread), cmp.Compare(a.Op, b.Op))
	})
	return out, err
}

// OpSeconds visits the statistics of each second that a window touches, in order of time, with its
// Unix time in seconds. A thread and operation may have several in one second. The pointed-to value
// is reused.
func (r *Reader) OpSeconds(ctx context.Context, w store.Window, visit func(sec uint64, o *store.OpStat) bool) error {
	o := store.OpStat{Hist: new(stats.Histogram)}
	var blob []byte
	nested := "null" // recordings before schema 18
	if ok, err := r.hasColumn(ctx, "call_second", "nested"); err != nil {
		return err
	} else if ok {
		nested = "nested"
	}
	query := opStatQuery + nested + " from call_second where id between ? and ? order by id"
	return r.rows(ctx, query, seconds(w), func(s *sqlite.Stmt) error {
		t, err := r.thread(ctx, s.ColumnInt64(0))
		if err != nil {
			return err
		}
		u := func(i int) uint64 { return uint64(s.ColumnInt64(i)) }
		hist := o.Hist
		o = store.OpStat{
			Thread: t.Thread, Op: event.Op(u(1)), Calls: u(2), Errors: u(3), SumNS: u(4), MaxNS: u(5), Bytes: u(6), First: u(7),
			Last: u(8), Hist: hist,
		}
		readLedger(s, 9, &o.Ledger)
		if o.NestedKnown = !s.ColumnIsNull(11 + ledgerWidth); s.ColumnBool(11 + ledgerWidth) {
			o.Nested = store.Sums{Calls: o.Calls, NS: o.SumNS, Ledger: o.Ledger}
		}
		if blob, err = readHistogram(s, 9+ledgerWidth, hist, blob, o.Op); err != nil {
			return err
		}
		return stopUnless(visit(u(10+ledgerWidth)>>20, &o))
	})
}

// readHistogram reads a histogram from a column of a roll-up. It returns the memory it used.
func readHistogram(s *sqlite.Stmt, column int, h *stats.Histogram, blob []byte, op event.Op) ([]byte, error) {
	n := s.ColumnLen(column)
	blob = slices.Grow(blob[:0], n)[:n]
	s.ColumnBytes(column, blob)
	if err := h.UnmarshalBinary(blob); err != nil {
		return blob, fmt.Errorf("%w: roll-up of %s: %w", store.ErrCorrupt, op, err)
	}
	return blob, nil
}

func opStatOf(found map[opStatKey]*store.OpStat, key opStatKey) *store.OpStat {
	o := found[key]
	if o == nil {
		o = &store.OpStat{Thread: key.Thread, Op: key.op, First: ^uint64(0), Hist: new(stats.Histogram)}
		found[key] = o
	}
	return o
}

var gapStatQuery = expand("select thread, gaps, sum, %s from gap_second where id between ? and ?")

// gapStats adds up the statistics of seconds. The window grows to whole seconds.
func (r *Reader) gapStats(ctx context.Context, w store.Window) ([]store.GapStat, error) {
	found := make(map[event.Thread]*store.GapStat)
	var ledger event.Ledger
	err := r.rows(ctx, gapStatQuery, seconds(w), func(s *sqlite.Stmt) error {
		t, err := r.thread(ctx, s.ColumnInt64(0))
		if err != nil {
			return err
		}
		g := found[t.Thread]
		if g == nil {
			g = &store.GapStat{Thread: t.Thread}
			found[t.Thread] = g
		}
		g.Gaps += uint64(s.ColumnInt64(1))
		g.SumNS += uint64(s.ColumnInt64(2))
		readLedger(s, 3, &ledger)
		g.Ledger.Add(&ledger)
		return nil
	})
	out := make([]store.GapStat, 0, len(found))
	for _, g := range found {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b store.GapStat) int { return compareThreads(a.Thread, b.Thread) })
	return out, err
}

// loadNodes adds the memory nodes of the machine of each session; these are in order.
func (r *Reader) loadNodes(ctx context.Context, sessions []store.Session) error {
	return r.optional(ctx, "memory_node", "select session, cpus from memory_node order by session, node", nil,
		func(s *sqlite.Stmt) error {
			i, ok := slices.BinarySearchFunc(sessions, s.ColumnInt64(0),
				func(e store.Session, id int64) int { return cmp.Compare(e.ID, id) })
			if ok {
				sessions[i].Nodes = append(sessions[i].Nodes, s.ColumnText(1))
			}
			return nil
		})
}
