package question

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/ingero-io/ingero/echo/arrival"
	classes "github.com/ingero-io/ingero/event"
)

// maxSpans is how many spans are read. If there are more, a part of the collectives is read, with all their ranks.
const maxSpans = 50_000

// residues is a prime number; see share.
const residues = 65_521

// Collectives are the collectives that ranks sent.
type Collectives struct {
	Spans []arrival.Span
	Total int64 // number of spans in the store
	// Unknown counts spans without a rank, communicator or number, which cannot be compared.
	Unknown int64
	// Share is the share of the collectives that was read.
	Share float64
}

// comparable selects the spans that can be compared. An operation with one peer is not a collective of all.
const comparable = "rank is not null and comm_id_hash is not null and seq is not null and peer_rank is null"

// Collectives reads them, without those between two ranks. The tracer only sends some: each says how long the rank
// had worked before it (own_ms) and how many it stands for (one_of). Other senders send all.
func (a *Asker) Collectives(ctx context.Context, s Scope) (out Collectives, err error) {
	where := a.where(s, "enter_ns")
	_, err = a.rows(ctx, func(l *line) { out.Total, out.Unknown = l.int(), l.int() },
		`select count(*), sum(case when %s then 0 else 1 end) from collectives
		where peer_rank is null and %s`, comparable, where)
	if err != nil || out.Total == out.Unknown {
		return out, err
	}
	chosen, share := share(out.Total - out.Unknown)
	out.Share = share
	_, err = a.rows(ctx, func(l *line) {
		span := arrival.Span{Rank: arrival.Rank{Cluster: l.text(), Node: l.text(), Rank: int32(l.int())}}
		span.Comm, span.Seq, span.Enter, span.Exit, span.Before = l.text(), l.int(), l.int(), l.int(), l.int()
		span.OneOf = l.int()
		out.Spans = append(out.Spans, span)
	}, `select cluster_id, node_id, rank, comm_id_hash, seq, enter_ns, exit_ns, case
				when own_ms is not null then enter_ns - cast(own_ms * 1000000 as bigint)
				when why is null then last_ns end as before_ns, one_of from (
			select cluster_id, node_id, rank, comm_id_hash, seq, enter_ns, exit_ns, own_ms, why, one_of,
				max(exit_ns) over (partition by cluster_id, node_id, rank order by enter_ns
					rows between unbounded preceding and 1 preceding) as last_ns
			from collectives where %s and %s) as c
		where %s`, comparable, where, chosen)
	return out, err
}

// share returns the condition that selects collectives, and their share of all. They are spread evenly over the
// sequence numbers, whatever period the program's behaviour has.
func share(spans int64) (string, float64) {
	if spans <= maxSpans {
		return "1 = 1", 1
	}
	n := max(1, int64(math.Floor(residues*float64(maxSpans)/float64(spans))))
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

// latest is how many late collectives of a rank are read, the newest.
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
			Cluster: l.text(), Node: l.text(), Rank: int32(l.int()), PID: l.int(), Before: map[string]float64{},
		}
		// What is not a list of texts names no findings.
		_ = json.Unmarshal([]byte(l.text()), &x.Findings)
		for class := range classes.NumClasses {
			if ms := l.number(); ms != nil {
				x.Before[class.String()] = *ms
			}
		}
		list = append(list, x)
	}, `select cluster_id, node_id, rank, pid, finding_ids, %[1]s from (
			select cluster_id, node_id, rank, pid, finding_ids, %[1]s,
				row_number() over (partition by cluster_id, node_id, rank order by enter_ns desc) as place
			from collectives where why = 'late' and rank is not null and node_id in (%[2]s) and %[3]s) as e
		where place <= %[4]d`, before, a.list(nodes), a.where(s, "enter_ns"), latest)
	return list, err
}
