package storetest

import (
	"fmt"

	"github.com/ingero-io/ingero/echo/row"
)

// at is a time some seconds after one that all tests share.
func at(second int64) int64 { return row.SecondBegins(1_700_000_000 + second) }

// gauges are n rows of a second, which came when they were. Their value is their number, which is also that of their
// series: the same ones are in each second.
func gauges(n int, second int64) []row.Row {
	rows := make([]row.Row, n)
	for i := range rows {
		r := &rows[i]
		*r = row.Row{
			Series: row.NewSeries(row.Series{
				Kind: row.Gauge, Cluster: "east", Node: fmt.Sprint("n", i%4), Rank: int32(i % 8), NRanks: 8, Metric: "made",
				Resource: `{}`, Attrs: fmt.Sprintf(`{"i":%d}`, i),
			}),
			Timestamp: row.SecondBegins(second) + int64(i), Int: int64(i), HasInt: true,
		}
		r.Received, r.Key = r.Timestamp, row.Key(r, 0)
	}
	return rows
}

// texts are n lines of a log of a second that take space: no two have anything in common.
func texts(n int, second int64) []row.Row {
	rows := gauges(n, second)
	for i := range rows {
		x := (uint64(second)<<32 + uint64(i)) * 0x9e3779b97f4a7c15
		r := &rows[i]
		r.Kind, r.Metric, r.HasInt = row.Log, "", false
		r.Record = &row.Record{Body: fmt.Sprintf("%016x%016x", x, x*0xbf58476d1ce4e5b9)}
	}
	return rows
}

// points are n rows of a second, of 8 series that are in each second, with values that have nothing in common.
func points(n int, second int64) []row.Row {
	rows, series := make([]row.Row, n), gauges(8, second)
	for i := range rows {
		r := &rows[i]
		*r = row.Row{
			Series: series[i%len(series)].Series, Timestamp: row.SecondBegins(second) + int64(i), HasInt: true,
			Int: int64((uint64(second)<<32 + uint64(i)) * 0x9e3779b97f4a7c15),
		}
		r.Received, r.Key = r.Timestamp, row.Key(r, 0)
	}
	return rows
}

// Published are the rows of the published proof: two nodes with 1,000 points each, from four ranks of 250. Every 25th
// has the id of a causal chain, and every 100th is a straggler, the first one apart.
func Published() []row.Row {
	var rows []row.Row
	for rank := range 8 {
		for i := range 250 {
			rows = append(rows, PublishedRow(rank, i))
		}
	}
	return rows
}

// PublishedRow is the i-th row of a rank, of 250.
func PublishedRow(rank, i int) row.Row {
	node, n := "node-a100", rank/2*250+i
	if rank%2 == 1 {
		node = "node-h100"
	}
	s := row.Series{
		Kind: row.Gauge, Cluster: "demo-cluster", Node: node, Rank: int32(rank), NRanks: 8, Metric: "ingero.health.score",
		Resource: `{}`, Attrs: fmt.Sprintf(`{"rank":%d,"seq":%d}`, rank, n),
	}
	if n%25 == 0 {
		s.Attrs = fmt.Sprintf(`{"causal_chain_id":"chain-%s-%d","rank":%d,"seq":%d}`, node, n, rank, n)
	}
	r := row.Row{
		Series: row.NewSeries(s), Timestamp: at(int64(i)), Received: at(int64(i)), Double: 0.9 + float64(i)/10_000,
		HasDouble: true,
	}
	if n%100 == 0 && n > 0 {
		r.Double = 0.25
	}
	r.Key = row.Key(&r, 0)
	return r
}

// ranks are those of the cluster that Cluster is of, and of each of its nodes.
const ranks, ranksOfNode = 512, 8

// healthMetrics are what its ranks push.
var healthMetrics = []string{
	"ingero.node.health_score", "ingero.node.throughput_ratio", "ingero.node.compute_efficiency", "ingero.node.memory_headroom",
}

// Cluster are the series of 64 nodes of 8 ranks that push the published gauges, in the order in which Health has them.
func Cluster() []*row.Series {
	list := make([]*row.Series, ranks*len(healthMetrics))
	for i := range list {
		rank, node := i%ranksOfNode, i/ranksOfNode%(ranks/ranksOfNode)
		list[i] = row.NewSeries(row.Series{
			Kind: row.Gauge, Cluster: "east", Node: fmt.Sprintf("gpu-%02d", node), Rank: int32(rank), NRanks: ranks,
			Metric: healthMetrics[i/ranks], Unit: "1", Scope: "ingero.health",
			Attrs:    fmt.Sprintf(`{"ingero.node.rank":%d,"ingero.node.state":"active"}`, rank),
			Resource: fmt.Sprintf(`{"ingero.cluster.id":"east","ingero.node.id":"gpu-%02d","ingero.world_size":%d}`, node, ranks),
		})
	}
	return list
}

// Health are n points of series, from one on, as they come one after the other, so many nanoseconds apart.
func Health(series []*row.Series, n, from int, apart int64) []row.Row {
	rows := make([]row.Row, n)
	for i := range rows {
		at := from + i
		r := &rows[i]
		*r = row.Row{
			Series: series[at%len(series)], Timestamp: 1_700_000_000_000_000_000 + int64(at)*apart,
			Double: float64(at*7919%1000) / 1000, HasDouble: true,
		}
		r.Received, r.Key = r.Timestamp, r.Series.Key(r.Timestamp)
	}
	return rows
}
