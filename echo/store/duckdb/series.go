package duckdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/ingero-io/ingero/echo/row"
)

// numbers are the numbers of series in the file. They are used by the writer only.
type numbers struct {
	most int // series kept in memory between batches

	known map[row.ID]int64 // none for series with one point so far
	all   bool             // known has all series of the file
	next  int64
	stale bool // what is known may be wrong
}

func newNumbers(most int) *numbers { return &numbers{most: most, stale: true} }

// forgetNumbers makes number read them again. A number is never reused, even if its series was not stored.
func (n *numbers) forgetNumbers() { n.stale = true }

// load reads the numbers, if there are not too many.
func (n *numbers) load(ctx context.Context, conn *sql.Conn) error {
	var count, next int64
	err := conn.QueryRowContext(ctx, "select count(*), coalesce(max(series) + 1, 0) from series").Scan(&count, &next)
	if err != nil {
		return err
	}
	n.known, n.all, n.next = map[row.ID]int64{}, count <= int64(n.most), max(n.next, next)
	if n.all {
		if err := n.readNumbers(ctx, conn, ""); err != nil {
			return err
		}
	}
	n.stale = false
	return nil
}

// readNumbers reads some numbers.
func (n *numbers) readNumbers(ctx context.Context, conn *sql.Conn, which string) error {
	rows, err := conn.QueryContext(ctx, "select series, id_0, id_1 from series "+which)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var number int64
		var id row.ID
		if err := rows.Scan(&number, &id[0], &id[1]); err != nil {
			return err
		}
		n.known[id] = number
	}
	return rows.Err()
}

// number sets the series numbers of points. It returns the new series: those whose second point has come.
func (n *numbers) number(ctx context.Context, conn *sql.Conn, rows []point) ([]numbered, error) {
	if n.stale {
		if err := n.load(ctx, conn); err != nil {
			return nil, err
		}
	}
	if !n.all {
		if err := n.find(ctx, conn, rows); err != nil {
			return nil, err
		}
	}
	var added []numbered
	var last *row.Series
	var number int64
	for i := range rows {
		p := &rows[i]
		if p.row.Record != nil {
			continue
		}
		if p.row.Series != last || number == none { // points of a series often come together
			last = p.row.Series
			var ok bool
			if number, ok = n.known[last.ID()]; !ok {
				number = none
				n.known[last.ID()] = none
			} else if number == none {
				number = n.next
				n.next++
				n.known[last.ID()] = number
				added = append(added, numbered{last, number})
			}
		}
		p.series = number
	}
	return added, nil
}

// together is how many series are read at a time.
const together = 4096

// find reads those of the rows' series that are not in memory.
func (n *numbers) find(ctx context.Context, conn *sql.Conn, rows []point) error {
	missing := map[uint64]struct{}{}
	for i := range rows {
		if rows[i].row.Record != nil {
			continue
		}
		id := rows[i].row.ID()
		if _, ok := n.known[id]; !ok {
			missing[id[0]] = struct{}{}
		}
	}
	list := make([]uint64, 0, len(missing))
	for id := range missing {
		list = append(list, id)
	}
	for some := range slices.Chunk(list, together) {
		texts := make([]string, len(some))
		for i, id := range some {
			texts[i] = fmt.Sprint(id)
		}
		if err := n.readNumbers(ctx, conn, "where id_0 in ("+strings.Join(texts, ",")+")"); err != nil {
			return err
		}
	}
	return nil
}

// trim drops series with one point, and then all, if there are more than may be kept.
func (n *numbers) trim() {
	if len(n.known) > n.most {
		maps.DeleteFunc(n.known, func(_ row.ID, number int64) bool { return number == none })
	}
	if len(n.known) > n.most {
		n.known, n.all = map[row.ID]int64{}, false
	}
}

type numbered struct {
	series *row.Series
	number int64
}

// seriesColumns are the columns of the table series, in the order of appendSeries.
var seriesColumns = []string{
	"series", "id_0", "id_1", "kind", "cluster_id", "node_id", "rank", "nranks", "metric_name", "unit", "temporality",
	"attrs_json", "resource_json", "scope",
}

// appendSeries passes series to the engine.
func appendSeries(c driver.Conn, list []numbered) error {
	if len(list) == 0 {
		return nil
	}
	a, err := duckdb.NewAppenderWithColumns(c, "", "", "series", seriesColumns)
	if err != nil {
		return err
	}
	for _, one := range list {
		s, id := one.series, one.series.ID()
		if err := a.AppendRow(one.number, id[0], id[1], s.Kind.String(), s.Cluster, s.Node,
			number(s.Rank != row.None, s.Rank), number(s.NRanks != 0, s.NRanks), s.Metric, textValue(s.Unit),
			textValue(s.Temporality), s.Attrs, s.Resource, textValue(s.Scope)); err != nil {
			return abandon(a, err)
		}
	}
	return a.Close()
}

// dropSeries deletes series without points, in a transaction.
func (s *Store) dropSeries(ctx context.Context) error {
	rows, err := s.conn.QueryContext(ctx, `delete from series where series not in
		(select distinct series from point union select distinct series from distribution) returning id_0, id_1`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id row.ID
		if err := rows.Scan(&id[0], &id[1]); err != nil {
			return err
		}
		delete(s.numbers.known, id)
	}
	return rows.Err()
}
