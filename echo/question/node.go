package question

import (
	"context"
	"math"
)

// Node is a node that sent something.
type Node struct {
	Cluster, Node string
	Points        int64
	Ranks         int   // that it sent
	World         int   // size of its job; 0: not known
	Last          int64 // time of its newest row
	Received      int64 // when its newest row came
	Late          int64 // nanoseconds from a row's own time to when it came: the least of its rows
}

// Nodes returns the nodes with rows, sorted by cluster and name.
func (a *Asker) Nodes(ctx context.Context, s Scope) (list []Node, more bool, err error) {
	more, err = a.rows(ctx, func(l *line) {
		list = append(list, Node{
			Cluster: l.nextText(), Node: l.nextText(), Points: l.int(), Ranks: int(l.int()), World: int(l.int()), Last: l.int(),
			Received: l.int(), Late: l.int(),
		})
	}, `select cluster_id, node_id, count(*), count(distinct rank), max(nranks), max(timestamp_ns), max(received_ns),
			min(received_ns - timestamp_ns)
		from events where %s group by cluster_id, node_id order by cluster_id, node_id`, a.where(s, "timestamp_ns"))
	return list, more, err
}

// Ahead returns the nodes that have rows of a time and later, sorted, and the time of each one's newest row.
func (a *Asker) Ahead(ctx context.Context, cluster string, since int64) (list []Node, err error) {
	_, err = a.rows(ctx, func(l *line) {
		list = append(list, Node{Cluster: l.nextText(), Node: l.nextText(), Last: l.int()})
	}, `select cluster_id, node_id, max(timestamp_ns) from events where %s
		group by cluster_id, node_id order by cluster_id, node_id`,
		a.where(Scope{Cluster: cluster, From: since, To: math.MaxInt64}, "timestamp_ns"))
	return list, err
}

// Health is the newest health score of a rank.
type Health struct {
	Cluster, Node string
	Rank          *int32
	Score         float64
	At            int64
}

// Health returns the newest scores.
func (a *Asker) Health(ctx context.Context, s Scope) (list []Health, more bool, err error) {
	more, err = a.rows(ctx, func(l *line) {
		h := Health{Cluster: l.nextText(), Node: l.nextText(), Rank: l.rank()}
		if score := l.number(); score != nil {
			h.Score, h.At = *score, l.int()
			list = append(list, h)
		}
	}, `select cluster_id, node_id, rank, score, at_ns from (
			select cluster_id, node_id, rank, score, at_ns,
				row_number() over (partition by cluster_id, node_id, rank order by at_ns desc, score desc) as place
			from (select cluster_id, node_id, rank, arg_max(value, timestamp_ns) as score, max(timestamp_ns) as at_ns
				from events
				where metric_name in ('ingero.node.health_score', 'ingero.health.score')
					and (value_double is not null or value_int is not null) and %s
				group by cluster_id, node_id, rank, metric_name, attrs_json, resource_json) as s) as h
		where place = 1 order by cluster_id, node_id, rank`, a.where(s, "timestamp_ns"))
	return list, more, err
}

// Attributes are the newest attributes of a node, or of its resource, that have a name.
type Attributes struct {
	Cluster, Node   string
	Attrs, Resource string // JSON objects
}

// Attributes finds them, if nodes are named of those only. The name must have no special characters of LIKE or SQL.
func (a *Asker) Attributes(ctx context.Context, s Scope, name string, nodes ...string) (list []Attributes, err error) {
	of := ""
	if len(nodes) > 0 {
		of = " and node_id in (" + a.list(nodes) + ")"
	}
	_, err = a.rows(ctx, func(l *line) {
		list = append(list, Attributes{
			Cluster: l.nextText(), Node: l.nextText(), Attrs: l.nextText(), Resource: l.nextText(),
		})
	}, `select cluster_id, node_id, arg_max(attrs_json, timestamp_ns), arg_max(resource_json, timestamp_ns)
		from events where %s and (attrs_json like %s or resource_json like %[2]s)%s
		group by cluster_id, node_id order by cluster_id, node_id`, a.where(s, "timestamp_ns"), a.quote("%\""+name+"\"%"), of)
	return list, err
}

// Clusters returns the names of all clusters.
func (a *Asker) Clusters(ctx context.Context) (list []string, err error) {
	_, err = a.rows(ctx, func(l *line) { list = append(list, l.nextText()) },
		`select distinct cluster_id from events where cluster_id <> '' order by cluster_id`)
	return list, err
}
