package storetest

import (
	"fmt"

	"github.com/ingero-io/ingero/echo/row"
)

// at is a time some seconds after one that all tests share.
func at(second int64) int64 { return row.SecondBegins(1_700_000_000 + second) }

// gauges are n rows of a second, which came when they were. Their value is their number.
func gauges(n int, second int64) []row.Row {
	rows := make([]row.Row, n)
	for i := range rows {
		r := &rows[i]
		*r = row.Row{
			Kind: row.Gauge, Timestamp: row.SecondBegins(second) + int64(i), Cluster: "east", Node: fmt.Sprint("n", i%4),
			Rank: int32(i % 8), NRanks: 8, Metric: "made", Int: int64(i), HasInt: true, Resource: `{}`, Attrs: fmt.Sprintf(`{"i":%d}`, i),
		}
		r.Received, r.Key = r.Timestamp, row.Key(r, 0)
	}
	return rows
}

// texts are n rows of a second that take space: no two have anything in common.
func texts(n int, second int64) []row.Row {
	rows := gauges(n, second)
	for i := range rows {
		x := (uint64(second)<<32 + uint64(i)) * 0x9e3779b97f4a7c15
		rows[i].Body = fmt.Sprintf("%016x%016x", x, x*0xbf58476d1ce4e5b9)
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
	r := row.Row{
		Kind: row.Gauge, Timestamp: at(int64(i)), Received: at(int64(i)), Cluster: "demo-cluster", Node: node, Rank: int32(rank), NRanks: 8,
		Metric: "ingero.health.score", Double: 0.9 + float64(i)/10_000, HasDouble: true, Resource: `{}`,
		Attrs: fmt.Sprintf(`{"rank":%d,"seq":%d}`, rank, n),
	}
	if n%25 == 0 {
		r.Attrs = fmt.Sprintf(`{"causal_chain_id":"chain-%s-%d","rank":%d,"seq":%d}`, node, n, rank, n)
	}
	if n%100 == 0 && n > 0 {
		r.Double = 0.25
	}
	r.Key = row.Key(&r, 0)
	return r
}

// Health are n rows, from one on, as 64 nodes of 8 ranks push them: the published gauges, at one time after another.
func Health(n, from int) []row.Row {
	metrics := []string{
		"ingero.node.health_score", "ingero.node.throughput_ratio", "ingero.node.compute_efficiency", "ingero.node.memory_headroom",
	}
	rows := make([]row.Row, n)
	for i := range rows {
		at := from + i
		rank, node := at%8, at/8%64
		r := &rows[i]
		*r = row.Row{
			Kind: row.Gauge, Timestamp: 1_700_000_000_000_000_000 + int64(at)*3333,
			Received: 1_700_000_000_000_000_000 + int64(at)*3333,
			Cluster:  "east", Node: fmt.Sprintf("gpu-%02d", node), Rank: int32(rank), NRanks: 512, Metric: metrics[at/512%4], Unit: "1",
			Double: float64(at*7919%1000) / 1000, HasDouble: true, Scope: "ingero.health",
			Attrs:    fmt.Sprintf(`{"ingero.node.rank":%d,"ingero.node.state":"active"}`, rank),
			Resource: fmt.Sprintf(`{"ingero.cluster.id":"east","ingero.node.id":"gpu-%02d","ingero.world_size":512}`, node),
		}
		r.Key = row.Key(r, 0)
	}
	return rows
}
