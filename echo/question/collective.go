package question

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/ingero-io/ingero/echo/arrival"
	"github.com/ingero-io/ingero/echo/store"
	classes "github.com/ingero-io/ingero/event"
)

// maxSpans is how many spans of clusters are read at a time. Of a cluster that has more a part of the collectives is
// read, with all their ranks: so many, or fewest, but never more than mostSpans.
const (
	maxSpans  = 50_000
	fewest    = 2 * arrival.FewestCollectives
	mostSpans = 200_000
)

// spansLimits bound an answer with spans: more may have come since they were counted.
var spansLimits = store.Limits{Time: limits.Time, Rows: mostSpans + mostSpans/4, Bytes: 2 * limits.Bytes}

// residues is a prime number; see share.
const residues = 65_521

// Sent counts the spans of collectives in a scope.
type Sent struct {
	// Unknown counts those without a rank, communicator or number, which cannot be compared.
	Unknown int64
	// Share is the share of collectives that is read, the least of the clusters'; 0: there are none.
	Share float64
	// More: there were more than can be read.
	More bool
}

// Collectives are collectives that ranks of a cluster sent.
type Collectives struct {
	Cluster string
	Spans   []arrival.Span
	Share   float64 // of all
}

// comparable selects the spans that can be compared. An operation with one peer is not a collective of all.
const comparable = "rank is not null and comm_id_hash is not null and seq is not null and peer_rank is null"

// Collectives reads those of each cluster, without those between two ranks, and calls each in the order of their names.
// The tracer only sends some: each says how long the rank had worked before it (own_ms) and how many it stands for
// (one_of). Other senders send all, so that the last one before it, also of two ranks, says since when it had worked.
func (a *Asker) Collectives(ctx context.Context, s Scope, each func(Collectives)) (sent Sent, err error) {
	var clusters []ofCluster
	sent.More, err = a.rows(ctx, func(l *line) {
		c, total, unknown, ranks := ofCluster{name: l.nextText()}, l.int(), l.int(), l.int()
		sent.Unknown += unknown
		if c.spans = total - unknown; c.spans > 0 {
			c.chosen, c.share = share(c.spans, ranks)
			clusters = append(clusters, c)
		}
	}, `select cluster_id, count(*), sum(case when %s then 0 else 1 end), count(distinct (node_id, rank, pid))
		from collectives where peer_rank is null and %s group by cluster_id order by cluster_id`,
		comparable, a.where(s, "enter_ns"))
	if err != nil {
		return sent, err
	}
	for len(clusters) > 0 {
		n := together(clusters)
		more, err := a.spans(ctx, s, clusters[:n], each)
		if err != nil {
			return sent, err
		}
		sent.More = sent.More || more
		if share := clusters[0].share; sent.Share == 0 || share < sent.Share {
			sent.Share = share
		}
		clusters = clusters[n:]
	}
	return sent, nil
}

// ofCluster says which spans of a cluster are read.
type ofCluster struct {
	name   string
	spans  int64
	chosen string // a condition
	share  float64
}

// together returns how many of the clusters are read at a time. One of which only a part is read is read alone.
func together(clusters []ofCluster) int {
	spans := int64(0)
	for i := range clusters {
		if spans += clusters[i].spans; i > 0 && (spans > maxSpans || clusters[i].share < 1) {
			return i
		}
	}
	return len(clusters)
}

// spans reads spans of some clusters.
func (a *Asker) spans(ctx context.Context, s Scope, clusters []ofCluster, each func(Collectives)) (
	more bool, err error,
) {
	one := Collectives{Share: clusters[0].share}
	add := func() {
		if len(one.Spans) > 0 {
			each(one)
		}
	}
	names := make([]string, len(clusters))
	for i := range clusters {
		names[i] = clusters[i].name
	}
	more, err = a.rowsWithin(ctx, spansLimits, func(l *line) {
		var span arrival.Span
		span.Cluster, span.Node, span.Rank.Rank, span.PID = l.nextText(), l.nextText(), int32(l.int()), l.int()
		span.Comm, span.Seq, span.Enter, span.Exit, span.Before = l.nextText(), l.int(), l.int(), l.int(), l.int()
		span.OneOf = l.int()
		if span.Cluster != one.Cluster {
			add()
			one.Cluster, one.Spans = span.Cluster, nil
		}
		one.Spans = append(one.Spans, span)
	}, `select cluster_id, node_id, rank, pid, comm_id_hash, seq, enter_ns, exit_ns, case
				when own_ms between 0 and 1e9 then enter_ns - cast(own_ms * 1000000 as bigint)
				when why is null then last_ns end as before_ns, one_of from (
			select cluster_id, node_id, rank, pid, comm_id_hash, seq, peer_rank, enter_ns, exit_ns, own_ms, why, one_of,
				max(exit_ns) over (partition by cluster_id, node_id, rank, pid order by enter_ns
					rows between unbounded preceding and 1 preceding) as last_ns
			from collectives where rank is not null and cluster_id in (%s) and %s) as c
		where %s and %s order by cluster_id`, a.list(names), a.where(s, "enter_ns"), comparable, clusters[0].chosen)
	add()
	return more, err
}

// share returns the condition that selects collectives of a cluster, and their share of all. They are spread evenly
// over the sequence numbers, whatever period the program's behaviour has.
func share(spans, ranks int64) (string, float64) {
	most := min(max(maxSpans, fewest*ranks), mostSpans)
	if spans <= most {
		return "1 = 1", 1
	}
	n := max(1, int64(math.Floor(residues*float64(most)/float64(spans))))
	return fmt.Sprintf("(seq %% %d) * 40503 %% %[1]d < %d", residues, n), float64(n) / residues
}

// Late is a collective that a rank entered late, with what its tracer sent of the rank.
type Late struct {
	Cluster, Node string
	Rank          int32
	PID           int64              // of the rank's process; 0: not known
	Findings      []string           // ids of what was found in the process until then
	Before        map[string]float64 // milliseconds off the CPU in the half second before, by class
}

// latest is how many late collectives of a process are read, the newest.
const latest = 50

// Late reads the late collectives of some nodes.
func (a *Asker) Late(ctx context.Context, s Scope, nodes []string) (list []Late, err error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	columns := make([]string, classes.NumClasses)
	for class := range classes.NumClasses {
		columns[class] = "before_" + class.String() + "_ms"
	}
	before := strings.Join(columns, ", ")
	_, err = a.rows(ctx, func(l *line) {
		x := Late{
			Cluster: l.nextText(), Node: l.nextText(), Rank: int32(l.int()), PID: l.int(), Before: map[string]float64{},
		}
		// What is not a list of texts names no findings.
		_ = json.Unmarshal([]byte(l.nextText()), &x.Findings)
		for class := range classes.NumClasses {
			if ms := l.number(); ms != nil {
				x.Before[class.String()] = *ms
			}
		}
		list = append(list, x)
	}, `select cluster_id, node_id, rank, pid, finding_ids, %[1]s from (
			select cluster_id, node_id, rank, pid, finding_ids, %[1]s,
				row_number() over (partition by cluster_id, node_id, rank, pid order by enter_ns desc) as place
			from collectives where why = 'late' and rank is not null and node_id in (%[2]s) and %[3]s) as e
		where place <= %[4]d`, before, a.list(nodes), a.where(s, "enter_ns"), latest)
	return list, err
}
