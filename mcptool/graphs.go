package mcptool

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store/sqlite"
)

// graphUse is what a process did with CUDA graphs, exactly.
type graphUse struct {
	Process      data   `json:"process"`
	PID          uint32 `json:"pid"`
	Captures     uint64 `json:"captures"`
	Failed       uint64 `json:"captures_failed"`
	Instantiates uint64 `json:"instantiates"`
	Launches     uint64 `json:"launches"`
	Updates      uint64 `json:"updates"`
	Destroyed    uint64 `json:"destroyed"`
}

// graphUses adds up the graph operations of each process.
func (v *view) graphUses(ctx context.Context) ([]graphUse, error) {
	list, err := v.OpStats(ctx, v.win)
	if err != nil {
		return nil, err
	}
	names, err := v.names(ctx)
	if err != nil {
		return nil, err
	}
	by := map[uint32]*graphUse{}
	for i := range list {
		o := &list[i]
		if o.Op.Source() != event.SourceGraph || !v.wants(o.PID) {
			continue
		}
		u := by[o.PID]
		if u == nil {
			u = &graphUse{Process: name(names[o.PID]), PID: o.PID}
			by[o.PID] = u
		}
		ok := o.Calls - min(o.Errors, o.Calls)
		switch o.Op.String() {
		case "cudaStreamEndCapture":
			u.Captures, u.Failed = u.Captures+o.Calls, u.Failed+o.Errors
		case "cudaGraphInstantiate":
			u.Instantiates += ok
		case "cudaGraphLaunch":
			u.Launches += ok
		case "cudaGraphExecUpdate":
			u.Updates += ok
		case "cudaGraphExecDestroy":
			u.Destroyed += ok
		}
	}
	uses := []graphUse{}
	for _, u := range by {
		uses = append(uses, *u)
	}
	slices.SortFunc(uses, func(a, b graphUse) int {
		return cmp.Or(cmp.Compare(b.Launches, a.Launches), cmp.Compare(a.PID, b.PID))
	})
	return uses, nil
}

// where is the scope as a condition on a public view.
func (v *view) where() string {
	from, to := v.win.From, v.win.To
	if to == 0 || to > math.MaxInt64 {
		to = math.MaxInt64
	}
	cond := fmt.Sprintf("where timestamp >= %d and timestamp < %d", min(from, math.MaxInt64), to)
	if len(v.pids) > 0 {
		cond += " and pid in (" + strings.Trim(strings.ReplaceAll(fmt.Sprint(v.pids), " ", ","), "[]") + ")"
	}
	return cond
}

// listed reports whether the recording has a view of graphs: the schema of an
// older one may lack it. It notes so.
func (s *server) listed(ctx context.Context, view string, c *common) (bool, error) {
	found := false
	err := s.each(ctx, "select 1 from sqlite_schema where name = '"+view+"' union select 1 from sqlite_temp_schema where name = '"+view+"'", func(row) error {
		found = true
		return nil
	})
	if !found {
		c.Note = joined(c.Note, "a recording of this version has no single graphs, only totals")
	}
	return found, err
}

// each runs a statement of our own and calls f with each row.
func (s *server) each(ctx context.Context, sql string, f func(row) error) error {
	rows, err := s.src.Query(ctx, sql, sqlite.Limits{Rows: maxListed})
	if err != nil {
		return err
	}
	defer rows.Close() // a reader has nothing to lose
	for rows.Next() {
		if err := f(rows.Values()); err != nil {
			return err
		}
	}
	return rows.Err()
}

// maxListed bounds the lists that are paged here rather than by SQL.
const maxListed = 20_000

// row is a row of a view.
type row []any

func (r row) uint(i int) uint64 {
	switch v := r[i].(type) {
	case int64:
		return uint64(max(v, 0))
	case float64:
		return uint64(max(v, 0))
	}
	return 0
}

func (r row) int(i int) int64 {
	v, _ := r[i].(int64)
	return v
}

func (r row) text(i int) string {
	v, _ := r[i].(string)
	return v
}
