package clickhouse

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

const (
	// addedRows and addedMinutes are how many rows, and how many minutes, an insert adds up, if a minute has no more: the
	// server holds the states of them all in memory, about a kilobyte for each minute of a rank's metric.
	addedRows, addedMinutes = 1_000_000, 1000
	// inFlight is how long before it became known a row may have come: another ingero-echo was just writing it, and its
	// clock may be behind.
	inFlight = 2 * time.Minute
)

// minute is a minute that has new rows.
type minute struct {
	number int64  // since the Unix epoch
	rows   uint64 // of all times at which they came
	first  int64  // when the first of them came
}

// addUp computes the minutes whose rows came since the last call, in steps. It computes whole minutes, from all rows,
// so that duplicates count once, and two concurrent calls write the same.
func (s *Store) addUp(ctx context.Context) error {
	var through sql.NullInt64
	var now int64
	if err := s.conn.QueryRow(ctx, "select maxOrNull(through_ns), toUnixTimestamp64Nano(now64(9)) from minute").
		Scan(&through, &now); err != nil {
		return err
	}
	since, done := "", int64(math.MinInt64)
	if through.Valid {
		// A writer whose clock is ahead must not hide what others write.
		done = min(through.Int64, now)
		since = fmt.Sprintf(" and received_ns > %d", done-int64(inFlight))
	}
	list, err := s.newMinutes(ctx, since)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(list, addedMinutes) {
		if err := s.countMinutes(ctx, some); err != nil {
			return err
		}
	}
	for len(list) > 0 {
		n := step(list)
		some, rest := list[:n], list[n:]
		until := now
		if len(rest) > 0 {
			until = min(now, max(done, rest[0].first-1))
		}
		ctx := clickhouse.Context(ctx, clickhouse.WithSettings(minuteSettings))
		if err := s.conn.Exec(ctx, addUp(some, until)); err != nil {
			return err
		}
		list = rest
	}
	return nil
}

// newMinutes returns the minutes of the rows that a condition selects, in the order in which the first of these came:
// if the work is interrupted, all rows before the next minute's first one are added up.
func (s *Store) newMinutes(ctx context.Context, condition string) (list []minute, err error) {
	rows, err := s.conn.Query(ctx, `select number, min(received_ns) as first
		from (select intDiv(timestamp_ns, 60000000000) as number, received_ns from point
			where metric_name is not null`+condition+`)
		group by number order by first, number`)
	if err != nil {
		return nil, err
	}
	defer closed(rows)
	for rows.Next() {
		var m minute
		if err := rows.Scan(&m.number, &m.first); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, rows.Err()
}

// countMinutes counts all rows of minutes.
func (s *Store) countMinutes(ctx context.Context, list []minute) error {
	of := map[int64]*minute{}
	for i := range list {
		of[list[i].number] = &list[i]
	}
	rows, err := s.conn.Query(ctx, `select number, count()
		from (select intDiv(timestamp_ns, 60000000000) as number from point where metric_name is not null and `+
		during(list)+`) group by number`)
	if err != nil {
		return err
	}
	defer closed(rows)
	for rows.Next() {
		var number int64
		var n uint64
		if err := rows.Scan(&number, &n); err != nil {
			return err
		}
		if m := of[number]; m != nil {
			m.rows = n
		}
	}
	return rows.Err()
}

// step returns how many of the minutes one insert adds up, one at least.
func step(list []minute) int {
	rows := uint64(0)
	for i := range list {
		if rows += list[i].rows; i > 0 && (rows > addedRows || i == addedMinutes) {
			return i
		}
	}
	return len(list)
}

// minuteSettings let the server that is asked add up what all shards have: the rows of a minute are on any of them. It
// fails if a shard would look for new rows only among its own.
var minuteSettings = clickhouse.Settings{
	"async_insert": 0, "max_partitions_per_insert_block": 0, "insert_distributed_sync": 1,
	"parallel_distributed_insert_select": 0, "distributed_product_mode": "deny", "skip_unavailable_shards": 0,
	"do_not_merge_across_partitions_select_final": 1,
}

// during returns the condition for rows of minutes. The hours keep the engine from looking at other partitions.
func during(list []minute) string {
	minutes, hours := make([]string, len(list)), map[string]bool{}
	for i := range list {
		minutes[i] = strconv.FormatInt(list[i].number, 10)
		hours[strconv.FormatInt(list[i].number/60, 10)] = true
	}
	return fmt.Sprintf("intDiv(timestamp_ns, 3600000000000) in (%s) and intDiv(timestamp_ns, 60000000000) in (%s)",
		strings.Join(slices.Sorted(maps.Keys(hours)), ", "), strings.Join(minutes, ", "))
}

// addUp returns the statement that computes minutes, after which all rows that came until a time are added up. The
// newest of a minute's rows wins, by that time.
func addUp(list []minute, until int64) string {
	return fmt.Sprintf(`insert into minute
		select intDiv(timestamp_ns, 60000000000) * 60000000000 as minute_ns, cluster_id, node_id,
			assumeNotNull(metric_name) as metric_name, rank, countState(), sumState(v), minState(v), maxState(v),
			quantilesDDState(0.01, 0.5, 0.9, 0.99)(v), least(max(received_ns), %d)
		from (
			select timestamp_ns, received_ns, cluster_id, node_id, metric_name, rank,
				assumeNotNull(coalesce(value_double, toFloat64(value_int), sum / nullIf(count, 0))) as v
			from point final
			where metric_name is not null
				and coalesce(value_double, toFloat64(value_int), sum / nullIf(count, 0)) is not null
				and %s)
		group by minute_ns, cluster_id, node_id, metric_name, rank`, until, during(list))
}
