package clickhouse

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/store"
)

// batch is the greatest number of rows in an insert.
const batch = 20_000

// insertsAtOnce is how many inserts of a batch run at a time: the server writes one while it is sent another.
const insertsAtOnce = 3

// Write implements store.Writer.
func (s *Store) Write(ctx context.Context, rows []row.Row) (store.Written, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	var out store.Written
	err := s.use(func() (err error) {
		out, err = s.write(ctx, rows)
		return err
	})
	if err != nil {
		s.seen.Drop(rows)
		return store.Written{}, err
	}
	return out, nil
}

func (s *Store) write(ctx context.Context, rows []row.Row) (store.Written, error) {
	if err := s.seen.Read(ctx, rows, s.newest, stored{s}); err != nil {
		return store.Written{}, fmt.Errorf("%w: find rows that are there already: %w", store.ErrUnavailable, err)
	}
	fresh := make([]*row.Row, 0, len(rows))
	for i := range rows {
		if r := &rows[i]; s.seen.Add(r) {
			fresh = append(fresh, r)
			// Even if the write fails: the rows may be there.
			s.newest = max(s.newest, r.Timestamp)
		}
	}
	inserts, ctx := errgroup.WithContext(ctx)
	inserts.SetLimit(insertsAtOnce)
	for some := range slices.Chunk(fresh, batch) {
		inserts.Go(func() error { return s.insert(ctx, some) })
	}
	if err := inserts.Wait(); err != nil {
		return store.Written{}, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	s.seen.Trim()
	return store.Written{Rows: len(fresh), Duplicates: len(rows) - len(fresh)}, nil
}

// stored are the rows on the server, for package seen.
type stored struct{ s *Store }

// SecondOf implements seen.Source.
func (stored) SecondOf() string { return "intDiv(timestamp_ns, 1000000000)" }

// Count implements seen.Source. A row that was written twice counts twice until it is merged.
func (t stored) Count(ctx context.Context, condition string, each func(second, rows int64)) error {
	var second int64
	var n uint64
	return t.readStored(ctx, "select second, count() from (select "+t.SecondOf()+" as second from point where "+condition+
		") group by second", func() { each(second, int64(n)) }, &second, &n)
}

// Keys implements seen.Source.
func (t stored) Keys(ctx context.Context, condition string, each func(timestamp int64, key uint64)) error {
	var at int64
	var key uint64
	return t.readStored(ctx, "select timestamp_ns, key from point where "+condition, func() { each(at, key) }, &at, &key)
}

func (t stored) readStored(ctx context.Context, statement string, each func(), into ...any) error {
	rows, err := t.s.conn.Query(ctx, statement)
	if err != nil {
		return err
	}
	defer closed(rows)
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		each()
	}
	return rows.Err()
}

// insertSettings make the answer mean that all shards have written the insert, in any number of partitions.
var insertSettings = clickhouse.Settings{
	"async_insert": 0, "insert_distributed_sync": 1, "max_partitions_per_insert_block": 0,
}

// insert writes rows in one block.
func (s *Store) insert(ctx context.Context, rows []*row.Row) error {
	b, err := s.conn.PrepareBatch(clickhouse.Context(ctx, clickhouse.WithSettings(insertSettings)),
		"insert into point ("+strings.Join(columnNames, ", ")+")")
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }() // no effect after Send
	if err := appendColumns(b, rows); err != nil {
		return err
	}
	return b.Send()
}

// columnNames are the columns in the order of appendColumns.
var columnNames = []string{
	"timestamp_ns", "received_ns", "cluster_id", "node_id", "kind", "metric_name", "unit", "temporality", "start_ns",
	"rank", "nranks", "value_double", "value_int", "event_name", "severity", "severity_number", "body",
	"trace_id", "span_id", "parent_span_id", "duration_ns", "attrs_json", "resource_json", "scope",
	"count", "sum", "min", "max", "p50", "p90", "p99", "bucket_lower", "bucket_upper", "bucket_count", "key",
}

// appendColumns appends rows by column, as the protocol needs it.
func appendColumns(b driver.Batch, rows []*row.Row) error {
	n, nothing := 0, &row.Record{}
	recordOf := func(r *row.Row) *row.Record { // content of a log record or span
		if r.Record == nil {
			return nothing
		}
		return r.Record
	}
	var fault error
	add := func(column any) {
		if fault == nil {
			fault = b.Column(n).Append(column)
		}
		n++
	}
	add(each(rows, func(r *row.Row) int64 { return r.Timestamp }))
	add(each(rows, func(r *row.Row) int64 { return r.Received }))
	add(each(rows, func(r *row.Row) string { return r.Cluster }))
	add(each(rows, func(r *row.Row) string { return r.Node }))
	add(each(rows, func(r *row.Row) string { return r.Kind.String() }))
	add(each(rows, func(r *row.Row) *string { return unlessEmpty(&r.Metric) }))
	add(each(rows, func(r *row.Row) *string { return unlessEmpty(&r.Unit) }))
	add(each(rows, func(r *row.Row) *string { return unlessEmpty(&r.Temporality) }))
	add(each(rows, func(r *row.Row) *int64 { return known(r.Start != 0, &r.Start) }))
	add(each(rows, func(r *row.Row) *int32 { return known(r.Rank != row.None, &r.Rank) }))
	add(each(rows, func(r *row.Row) *int32 { return known(r.NRanks != 0, &r.NRanks) }))
	add(each(rows, func(r *row.Row) *float64 { return known(r.HasDouble, &r.Double) }))
	add(each(rows, func(r *row.Row) *int64 { return known(r.HasInt, &r.Int) }))
	add(each(rows, func(r *row.Row) *string { return unlessEmpty(&recordOf(r).Event) }))
	add(each(rows, func(r *row.Row) *string { return unlessEmpty(&recordOf(r).Severity) }))
	add(each(rows, func(r *row.Row) *int32 { return known(recordOf(r).SeverityNumber != 0, &recordOf(r).SeverityNumber) }))
	add(each(rows, func(r *row.Row) *string { return unlessEmpty(&recordOf(r).Body) }))
	add(each(rows, func(r *row.Row) *string { return unlessEmpty(&recordOf(r).Trace) }))
	add(each(rows, func(r *row.Row) *string { return unlessEmpty(&recordOf(r).Span) }))
	add(each(rows, func(r *row.Row) *string { return unlessEmpty(&recordOf(r).Parent) }))
	add(each(rows, func(r *row.Row) *int64 { return known(r.Kind == row.Span, &recordOf(r).Duration) }))
	add(each(rows, func(r *row.Row) string { return r.Attrs }))
	add(each(rows, func(r *row.Row) string { return r.Resource }))
	add(each(rows, func(r *row.Row) *string { return unlessEmpty(&r.Scope) }))
	addDistributions(add, rows)
	add(each(rows, func(r *row.Row) uint64 { return r.Key }))
	return fault
}

func addDistributions(add func(any), rows []*row.Row) {
	add(each(rows, func(r *row.Row) *int64 {
		if r.Distribution == nil {
			return nil
		}
		n := atMost(r.Distribution.Count)
		return &n
	}))
	for _, of := range []func(*row.Distribution) *float64{
		func(d *row.Distribution) *float64 { return &d.Sum }, func(d *row.Distribution) *float64 { return &d.Min },
		func(d *row.Distribution) *float64 { return &d.Max }, func(d *row.Distribution) *float64 { return &d.P50 },
		func(d *row.Distribution) *float64 { return &d.P90 }, func(d *row.Distribution) *float64 { return &d.P99 },
	} {
		add(each(rows, func(r *row.Row) *float64 {
			if r.Distribution == nil {
				return nil
			}
			f := of(r.Distribution)
			return known(!math.IsNaN(*f), f)
		}))
	}
	add(each(rows, func(r *row.Row) []float64 { return buckets(r, func(b row.Bucket) float64 { return b.Lower }) }))
	add(each(rows, func(r *row.Row) []float64 { return buckets(r, func(b row.Bucket) float64 { return b.Upper }) }))
	add(each(rows, func(r *row.Row) []int64 { return buckets(r, func(b row.Bucket) int64 { return atMost(b.Count) }) }))
}

// each returns a value of each row.
func each[T any](rows []*row.Row, f func(*row.Row) T) []T {
	column := make([]T, len(rows))
	for i, r := range rows {
		column[i] = f(r)
	}
	return column
}

// buckets returns a value of each bucket of a row, none without a distribution.
func buckets[T any](r *row.Row, f func(row.Bucket) T) []T {
	if r.Distribution == nil {
		return []T{}
	}
	list := make([]T, len(r.Distribution.Buckets))
	for i, b := range r.Distribution.Buckets {
		list[i] = f(b)
	}
	return list
}

func atMost(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// unlessEmpty returns nil (NULL) if a text is empty.
func unlessEmpty(s *string) *string { return known(*s != "", s) }

// known returns nil (NULL) if a value is not known.
func known[T any](is bool, v *T) *T {
	if !is {
		return nil
	}
	return v
}
