package question

import (
	"context"
	"fmt"

	"github.com/ingero-io/ingero/echo/row"
)

// Metric is a metric with points in the scope.
type Metric struct {
	Name, Kind, Unit, Temporality string
	Points                        int64
	Nodes                         int
}

// Since reports whether each point of a metric has all since a start, so that only their difference is of the scope.
func (m *Metric) Since() bool {
	return m.Temporality == "cumulative" &&
		(m.Kind == row.Histogram.String() || m.Kind == row.ExponentialHistogram.String())
}

// Grows reports whether a metric is a sum whose growth matters, and not its value.
func (m *Metric) Grows() bool { return m.Kind == row.Sum.String() && m.Temporality != row.NonMonotonic }

// Metrics returns the metrics with points, the one with most first. If name is not empty, only that one.
func (a *Asker) Metrics(ctx context.Context, s Scope, name string) (list []Metric, err error) {
	only := ""
	if name != "" {
		only = " and metric_name = " + a.quote(name)
	}
	_, err = a.rows(ctx, func(l *line) {
		list = append(list, Metric{
			Name: l.nextText(), Kind: l.nextText(), Unit: l.nextText(), Temporality: l.nextText(),
			Points: l.int(), Nodes: int(l.int()),
		})
	}, `select metric_name, kind, max(unit), temporality, count(*), count(distinct node_id) from events
		where metric_name is not null%s and %s group by metric_name, kind, temporality order by count(*) desc, metric_name`,
		only, a.where(s, "timestamp_ns"))
	return list, err
}

// Value is the value of a metric on a node or rank.
type Value struct {
	Cluster, Node string
	Rank          *int32
	// Value is the median of points; for histograms that of their means, or, if each has all since a start, the mean of
	// what came in the scope; for sums that grow the growth per second, over the time that the points cover.
	Value  *float64
	Points int64
	// Beyond counts the points beyond the limit.
	Beyond int64
}

// Statements for the values of a metric: %[1]s is the column of ranks, or null, %[2]s counts points beyond the limit,
// %[3]s says where the points come from, %[4]s is what there is a value of besides nodes, %[5]d when the scope begins.
const (
	// A sum that does not say when it began begins anew when it falls. Each scope counts for itself.
	growth = `select cluster_id, node_id, %[1]s,
		sum(grew) / (max(to_ns) - min(from_ns)) * 1000000000, sum(points), sum(beyond)
	from (select cluster_id, node_id, rank, max(value) - min(value) as grew, min(timestamp_ns) as from_ns,
			max(timestamp_ns) as to_ns, count(*) as points, %[2]s as beyond
		%[3]s and start_ns is not null
		group by cluster_id, node_id, rank, attrs_json, resource_json, scope, start_ns
	union all
		select cluster_id, node_id, rank, sum(case when value < before then value when value > before
				then value - before else 0 end) as grew, min(timestamp_ns) as from_ns, max(timestamp_ns) as to_ns,
			count(*) as points, %[2]s as beyond
		from (select cluster_id, node_id, rank, attrs_json, resource_json, scope, timestamp_ns, value, max(value) over (
				partition by cluster_id, node_id, rank, attrs_json, resource_json, scope order by timestamp_ns
				rows between 1 preceding and 1 preceding) as before
			%[3]s and start_ns is null) as each_one
		group by cluster_id, node_id, rank, attrs_json, resource_json, scope) as series
	group by cluster_id, node_id%[4]s having max(to_ns) > min(from_ns) order by cluster_id, node_id%[4]s`
	// The first point begins at its start, or as long before it as one comes after the other.
	differences = `select cluster_id, node_id, %[1]s,
		sum(grew) / (max(to_ns) - min(from_ns)) * 1000000000, sum(points), sum(beyond)
	from (select cluster_id, node_id, rank, sum(value) as grew, max(timestamp_ns) as to_ns, count(*) as points,
			%[2]s as beyond, coalesce(min(start_ns) * 1e0, case when count(*) > 1 then min(timestamp_ns)
				- (max(timestamp_ns) - min(timestamp_ns)) / (count(*) - 1) end) as from_ns
		%[3]s group by cluster_id, node_id, rank, attrs_json, resource_json, scope) as series
	group by cluster_id, node_id%[4]s having max(to_ns) > min(from_ns) order by cluster_id, node_id%[4]s`
	// Of a histogram that began in the scope also the first point is of the scope. One that does not say when it began
	// begins anew when its count falls.
	means = `select cluster_id, node_id, %[1]s, sum(grew) / sum(came), sum(points), sum(beyond)
	from (select cluster_id, node_id, rank,
			sum(case when before is null then case when start_ns >= %[5]d then total end
				when count < before then total else total - total_before end) as grew,
			sum(case when before is null then case when start_ns >= %[5]d then count end
				when count < before then count else count - before end) as came,
			count(*) as points, %[2]s as beyond
		from (select cluster_id, node_id, rank, attrs_json, resource_json, scope, start_ns, value, count,
				coalesce(sum, 0) as total, max(count) over (
					partition by cluster_id, node_id, rank, attrs_json, resource_json, scope, start_ns
					order by timestamp_ns rows between 1 preceding and 1 preceding) as before, max(coalesce(sum, 0)) over (
					partition by cluster_id, node_id, rank, attrs_json, resource_json, scope, start_ns
					order by timestamp_ns rows between 1 preceding and 1 preceding) as total_before
			%[3]s) as each_one
		group by cluster_id, node_id, rank, attrs_json, resource_json, scope, start_ns) as series
	where came > 0
	group by cluster_id, node_id%[4]s order by cluster_id, node_id%[4]s`
	medians = `select cluster_id, node_id, %[1]s, median(value), count(*), %[2]s %[3]s
		group by cluster_id, node_id%[4]s order by cluster_id, node_id%[4]s`
)

// Values returns the values of a metric on each node or rank. If limit is not nil, points below it (under), or else
// above it, are counted.
func (a *Asker) Values(ctx context.Context, s Scope, m Metric, byRank bool, limit *float64, under bool) (list []Value,
	more bool, err error,
) {
	rank, by, of := "null", "", ""
	if byRank {
		rank, by, of = "rank", ", rank", " and rank is not null"
	}
	has := "value is not null"
	if m.Since() { // a point of which nothing came yet has no value, but what comes then is of the scope
		has = "(sum is not null or count = 0)"
	}
	beyond := "0"
	if limit != nil {
		sign := ">"
		if under {
			sign = "<"
		}
		beyond = fmt.Sprintf("sum(case when value %s %g then 1 else 0 end)", sign, *limit)
	}
	from := fmt.Sprintf("from events where metric_name = %s and kind = %s and coalesce(temporality, '') = %s "+
		"and %s%s and %s", a.quote(m.Name), a.quote(m.Kind), a.quote(m.Temporality), has, of, a.where(s, "timestamp_ns"))
	each := func(l *line) {
		list = append(list, Value{
			Cluster: l.nextText(), Node: l.nextText(), Rank: l.rank(), Value: l.number(), Points: l.int(), Beyond: l.int(),
		})
	}
	statement := medians
	switch {
	case m.Kind == row.Sum.String() && m.Temporality == "cumulative":
		statement = growth
	case m.Grows():
		statement = differences
	case m.Since():
		statement = means
	}
	more, err = a.rows(ctx, each, statement, rank, beyond, from, by, s.From)
	return list, more, err
}
