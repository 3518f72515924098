package storetest

import (
	"fmt"

	"github.com/ingero-io/ingero/echo/row"
)

// at returns a time some seconds after a start that all tests share.
func at(second int64) int64 { return row.SecondBegins(1_700_000_000 + second) }

// gauges returns n rows of a second, whose times of arrival are their own times. Their value is their index, which
// also selects the series: each second has the same ones.
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

// texts returns n log records of a second that take space: no two have anything in common.
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

// points returns n rows of a second, of 8 series that each second has, with unrelated values.
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

// Published returns the rows of the published proof: two nodes with 1,000 points each, 250 from each of four ranks.
// Every 25th has the id of a causal chain, and every 100th is a straggler, except the first.
func Published() []row.Row {
	var rows []row.Row
	for rank := range 8 {
		for i := range 250 {
			rows = append(rows, PublishedRow(rank, i))
		}
	}
	return rows
}

// PublishedRow returns the i-th of a rank's 250 rows.
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

// Scores returns health scores of two ranks of a node. That of rank 0 is first a fraction, and then an integer; that of
// rank 1 the other way round, with a histogram of the same name after it.
func Scores() []row.Row {
	var rows []row.Row
	for rank := range int32(2) {
		for i := range int64(2) {
			r := row.Row{
				Series: row.NewSeries(row.Series{
					Kind: row.Gauge, Cluster: "east", Node: "n1", Rank: rank, Metric: "ingero.node.health_score",
					Attrs: fmt.Sprintf(`{"ingero.node.rank":%d}`, rank), Resource: `{}`,
				}),
				Timestamp: at(i), Received: at(i),
			}
			if i == int64(rank) {
				r.Double, r.HasDouble = 0.25, true
			} else {
				r.Int, r.HasInt = 1, true
			}
			r.Key = row.Key(&r, 0)
			rows = append(rows, r)
		}
	}
	return append(rows, row.Row{
		Series: row.NewSeries(row.Series{
			Kind: row.Histogram, Cluster: "east", Node: "n1", Rank: 1, Metric: "ingero.node.health_score", Attrs: `{}`,
			Resource: `{}`,
		}),
		Key: 1, Timestamp: at(3), Received: at(3), Distribution: &row.Distribution{Count: 2, Sum: 14},
	})
}

// ranks is the size of the cluster in Cluster, ranksOfNode that of each of its nodes.
const ranks, ranksOfNode = 512, 8

// healthMetrics are the metrics that its ranks push.
var healthMetrics = []string{
	"ingero.node.health_score", "ingero.node.throughput_ratio", "ingero.node.compute_efficiency", "ingero.node.memory_headroom",
}

// Cluster returns the series of 64 nodes of 8 ranks that push the published gauges, in the order of Health.
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

// Models returns what the nodes of that cluster send of their GPUs: half of them have another model.
func Models() []*row.Series {
	list := make([]*row.Series, ranks/ranksOfNode)
	for i := range list {
		model := "NVIDIA A100-SXM4-80GB"
		if i%2 == 1 {
			model = "NVIDIA H100 80GB HBM3"
		}
		list[i] = row.NewSeries(row.Series{
			Kind: row.Gauge, Cluster: "east", Node: fmt.Sprintf("gpu-%02d", i), Rank: row.None, Metric: "ingero.node.info",
			Attrs:    fmt.Sprintf(`{"ingero.gpu_count":%d,"ingero.gpu_model":%q}`, ranksOfNode, model),
			Resource: fmt.Sprintf(`{"ingero.cluster.id":"east","ingero.node.id":"gpu-%02d","ingero.world_size":%d}`, i, ranks),
		})
	}
	return list
}

// Health returns n points of series, from index from on, in the order of their arrival, apart nanoseconds apart.
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
