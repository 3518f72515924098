package sqlite

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// readLedger reads ledgerColumns from column i on.
func readLedger(s *sqlite.Stmt, i int, l *event.Ledger) {
	for c := range l.NS {
		l.NS[c] = uint64(s.ColumnInt64(i + c))
	}
	l.Voluntary = uint16(min(s.ColumnInt64(i+int(event.NumClasses)), 0xffff))
	l.Involuntary = uint16(min(s.ColumnInt64(i+int(event.NumClasses)+1), 0xffff))
}

const callQuery = `select c.ts, c.thread, c.op, c.dur, c.ret, c.gpu, c.depth, c.stack, c.weight,
	a.a0, a.a1, a.a2, a.a3, l.ts, ` + "%s" + `, c.rest
	from call c left join args a on a.id = c.args left join call_ledger l on l.ts = c.ts `

// expand puts the ledger's columns into a query.
func expand(query string) string { return fmt.Sprintf(query, ledgerColumns) }

var (
	notableCallQuery = expand(strings.Replace(callQuery, "from call c", "from notable n join call c on c.ts = n.ts", 1) +
		"where n.ts between ? and ? order by n.ts")
	reachingQuery = expand(callQuery + "where c.ts between ? and ? and c.ts + c.dur > ? order by c.ts")
	allCallQuery  = expand(callQuery + "where c.ts between ? and ? order by c.ts")
)

// Calls implements store.Recording.
func (r *Reader) Calls(ctx context.Context, w store.Window, visit func(*event.Call) bool) error {
	return r.calls(ctx, allCallQuery, bounds(w), visit)
}

// CallsOf implements store.Recording.
func (r *Reader) CallsOf(ctx context.Context, w store.Window, ops []event.Op, visit func(*event.Call) bool) error {
	var list []string
	for _, o := range ops {
		list = append(list, strconv.Itoa(int(o)))
	}
	return r.calls(ctx, expand(callQuery+"where c.ts between ? and ? and c.op in ("+strings.Join(list, ", ")+
		") order by c.ts"), bounds(w), visit)
}

// CallTimes implements store.Reader.
func (r *Reader) CallTimes(ctx context.Context, w store.Window, visit func(*event.CallTime) bool) error {
	query := "select ts, thread, op, dur, depth, weight, rest, case when op in (" + opsThat(tellsSite) +
		") then (select a" +
		strconv.Itoa(event.SiteArg) + " from args where id = call.args) end from call where ts between ? and ? order by ts"
	if ok, err := r.hasColumn(ctx, "call", "rest"); err != nil {
		return err
	} else if !ok {
		query = strings.Replace(query, "rest", "null", 1)
	}
	var c event.CallTime
	return r.rows(ctx, query, bounds(w), func(s *sqlite.Stmt) error {
		t, err := r.thread(ctx, s.ColumnInt64(1))
		if err != nil {
			return err
		}
		c = event.CallTime{
			Start: uint64(s.ColumnInt64(0)), Duration: uint64(s.ColumnInt64(3)), Thread: t.Thread,
			Op: event.Op(s.ColumnInt64(2)), Depth: uint8(s.ColumnInt64(4)), Weight: uint32(s.ColumnInt64(5)),
			Rest: uint64(s.ColumnInt64(6)),
			Site: uint64(s.ColumnInt64(7)),
		}
		return stopUnless(visit(&c))
	})
}

func (r *Reader) calls(ctx context.Context, query string, args []int64, visit func(*event.Call) bool) error {
	if ok, err := r.hasColumn(ctx, "call", "rest"); err != nil {
		return err
	} else if !ok {
		query = strings.Replace(query, "c.rest", "null", 1)
	}
	var c event.Call
	return r.rows(ctx, query, args, func(s *sqlite.Stmt) error {
		t, err := r.thread(ctx, s.ColumnInt64(1))
		if err != nil {
			return err
		}
		c = event.Call{
			Start: uint64(s.ColumnInt64(0)), Duration: uint64(s.ColumnInt64(3)), Thread: t.Thread,
			Op: event.Op(s.ColumnInt64(2)), Ret: int32(s.ColumnInt64(4)), GPU: event.NoGPU,
			Depth: uint8(s.ColumnInt64(6)), Weight: uint32(s.ColumnInt64(8)), Rest: uint64(s.ColumnInt64(14 + ledgerWidth)),
		}
		if !s.ColumnIsNull(5) {
			c.GPU = int8(s.ColumnInt64(5))
		}
		for i := range c.Args {
			c.Args[i] = uint64(s.ColumnInt64(9 + i))
		}
		if !s.ColumnIsNull(13) {
			readLedger(s, 14, &c.Ledger)
		}
		if c.Stack, err = r.stackHash(ctx, s.ColumnInt64(7)); err != nil {
			return err
		}
		return stopUnless(visit(&c))
	})
}

func stopUnless(more bool) error {
	if more {
		return nil
	}
	return errStop
}

// Reaching implements store.Reader.
func (r *Reader) Reaching(ctx context.Context, at uint64, call func(*event.Call) bool,
	gap func(*event.Gap) bool,
) error {
	if at == 0 {
		return nil
	}
	args := append(bounds(store.Window{From: at - min(at, uint64(store.Reach)), To: at}), int64(at))
	if err := r.calls(ctx, reachingQuery, args, call); err != nil {
		return err
	}
	return r.gaps(ctx, reachingGapQuery, args, gap)
}
