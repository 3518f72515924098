package mcptool

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/echo/arrival"
	"github.com/ingero-io/ingero/echo/question"
)

type stragglersIn struct {
	scope
	paging
}

type stragglersOut struct {
	common
	Verdict    data           `json:"verdict"`
	Seen       stragglersSeen `json:"seen"`
	Stragglers []straggler    `json:"stragglers"`
	NotBlamed  []data         `json:"not_blamed,omitempty"`
	Others     []data         `json:"other_events,omitempty" jsonschema:"what agents tell of ranks besides"`
	Next       []next         `json:"next"`
	NextCursor string         `json:"next_cursor,omitempty"`
}

type stragglersSeen struct {
	Ranks       int     `json:"ranks" jsonschema:"in collectives"`
	Nodes       int     `json:"nodes"`
	Collectives int     `json:"collectives" jsonschema:"compared"`
	Alone       int     `json:"alone,omitempty" jsonschema:"told of by less than 3 ranks"`
	Unknown     int64   `json:"unknown,omitempty" jsonschema:"spans without rank, communicator or nccl.seq"`
	SharePct    float64 `json:"share_pct,omitempty" jsonschema:"of all collectives that were read, if not all"`
	SpanS       float64 `json:"span_s,omitempty" jsonschema:"seconds from the first to the last collective of the longest job"`
	AgentEvents int     `json:"agent_events"`
}

type straggler struct {
	ClusterID   data         `json:"cluster_id"`
	NodeID      data         `json:"node_id"`
	Rank        int32        `json:"rank"`
	PID         int64        `json:"pid,omitempty"`
	Since       string       `json:"since"`
	Before      bool         `json:"or_before,omitempty" jsonschema:"it was so when the window began"`
	Last        string       `json:"last"`
	Resolved    bool         `json:"resolved,omitempty"`
	Collectives *lateness    `json:"collectives,omitempty" jsonschema:"computed here"`
	Agent       *agentSays   `json:"agent,omitempty" jsonschema:"told by its node"`
	Why         why          `json:"why"`
	Address     data         `json:"address,omitempty" jsonschema:"of the node's API"`
	lost        float64      // share of the time
	from, to    int64        // when it was late
	rank        arrival.Rank // who
}

type lateness struct {
	Late      int     `json:"late" jsonschema:"times"`
	Of        int     `json:"of"`
	Every     int64   `json:"every,omitempty"`
	LateMS    float64 `json:"late_ms" jsonschema:"median"`
	MaxMS     float64 `json:"max_ms"`
	PeersMAD  float64 `json:"peers_mad_ms" jsonschema:"how much that usually varies"`
	OwnMS     float64 `json:"own_ms" jsonschema:"since its last collective"`
	PeerOwnMS float64 `json:"peers_own_ms"`
	Waiting   int     `json:"waiting_ranks"`
	// Before is what it waited for in the half second before it was late, if its tracer sent that: medians, in ms.
	Before  map[string]float64 `json:"before_ms,omitempty"`
	LostPct float64            `json:"lost_pct" jsonschema:"of its time"`
}

type agentSays struct {
	ExcessPct *float64 `json:"excess_pct,omitempty"`
	OwnMS     *float64 `json:"own_ms,omitempty" jsonschema:"a step"`
	PeerMS    *float64 `json:"peers_ms,omitempty"`
	LostMS    *float64 `json:"lost_ms_per_step,omitempty"`
	EventID   data     `json:"event_id,omitempty"`
}

type why struct {
	Kind         data     `json:"kind,omitempty"`
	Culprit      data     `json:"culprit,omitempty"`
	ExplainedPct *float64 `json:"explained_pct,omitempty"`
	By           string   `json:"by,omitempty"`
	Finding      data     `json:"finding,omitempty"`
	NotKnown     string   `json:"not_known,omitempty"`
}

func (s stragglersOut) rows() int { return len(s.Stragglers) }

const stragglersName = "fleet.cluster.find_stragglers"

const (
	// maxOthers is how many other events, and ranks that are not blamed, are named.
	maxOthers = 4
	// enough is the percentage of the lost time that a cause must explain.
	enough = 80
)

var stragglersTool = tool[stragglersIn, stragglersOut]{
	name: stragglersName,
	about: "Ranks that the others wait for: who, since when, how late, and why, from collectives' times and " +
		"what nodes' agents tell.",
	run: func(ctx context.Context, s *Tools, in stragglersIn) (out stragglersOut, err error) {
		at, pinned, err := in.begin(in)
		if err != nil {
			return out, err
		}
		sc, err := s.window(ctx, &out.common, in.ClusterID, cmp.Or(pinned, in.Window))
		if err != nil {
			return out, err
		}
		list, unknown, err := s.stragglers(ctx, sc, &out)
		if err != nil {
			return out, err
		}
		out.verdict(list, unknown)
		out.Next = nextOf(list, in.ClusterID, out.Window)
		page, rest := part(list, in.paging, at, out)
		if out.Stragglers = page; rest > 0 {
			out.NextCursor = in.next(rest, in, out.Window)
		}
		return out, nil
	},
}

// stragglers returns the stragglers of a scope: those that go on first, then the most costly first.
func (s *Tools) stragglers(ctx context.Context, sc question.Scope, out *stragglersOut) ([]straggler, *unknowns, error) {
	results, unknown, err := s.late(ctx, sc, &out.Seen, &out.common)
	if err != nil {
		return nil, nil, err
	}
	who := map[arrival.Process]*straggler{}
	out.late(results, who)
	episodes, more, err := s.ask.Episodes(ctx, sc)
	if err != nil {
		return nil, nil, err
	}
	out.cut(more, "events of ranks")
	out.Seen.AgentEvents = len(episodes)
	for i := range episodes {
		out.addEpisode(&episodes[i], who)
	}
	list := make([]straggler, 0, len(who))
	for _, one := range who {
		one.Since, one.Last = moment(one.from), moment(one.to)
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b straggler) int {
		if a.Resolved != b.Resolved {
			return map[bool]int{false: -1, true: 1}[a.Resolved]
		}
		return cmp.Or(cmp.Compare(b.lost, a.lost), a.process().Compare(b.process()))
	})
	return list, unknown, s.explain(ctx, sc, list)
}

func (s *straggler) process() arrival.Process { return arrival.Process{Rank: s.rank, PID: s.PID} }

// late compares the ranks of each job. The results are in the order of their first ranks.
func (s *Tools) late(ctx context.Context, sc question.Scope, seen *stragglersSeen, c *common) ([]arrival.Result,
	*unknowns, error,
) {
	var results []arrival.Result
	unknown := &unknowns{}
	sent, err := s.ask.Collectives(ctx, sc, func(of question.Collectives) {
		jobs := arrival.Jobs(of.Spans)
		list := make([]arrival.Result, len(jobs))
		for i, spans := range jobs {
			r := arrival.Compare(spans, arrival.Options{Share: of.Share})
			seen.Ranks, seen.Nodes = seen.Ranks+len(r.Ranks), seen.Nodes+r.Nodes
			seen.Collectives, seen.Alone = seen.Collectives+r.Collectives, seen.Alone+r.Alone
			seen.SpanS = max(seen.SpanS, round(r.SpanNS/1e9, 1))
			list[i] = r
		}
		unknown.addJobs(of.Cluster, list)
		results = append(results, list...)
	})
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(results, func(a, b arrival.Result) int { return a.Ranks[0].Compare(b.Ranks[0]) })
	unknown.notes(c)
	seen.Unknown = sent.Unknown
	if sent.Share > 0 && sent.Share < 1 {
		seen.SharePct = significant(sent.Share*100, 3)
	}
	if sent.More {
		c.addNote("not all collectives could be read; ask for a shorter window")
	}
	return results, unknown, nil
}

// late adds the ranks that are late by their collectives, and names the most costly of those that are not blamed.
func (s *stragglersOut) late(results []arrival.Result, who map[arrival.Process]*straggler) {
	var not []*arrival.Late
	for i := range results {
		r := &results[i]
		for k := range r.Late {
			l := &r.Late[k]
			if !l.Blamed {
				not = append(not, l)
				continue
			}
			who[l.Process] = &straggler{
				ClusterID: name(l.Cluster), NodeID: name(l.Node), Rank: l.Rank.Rank, PID: l.PID, rank: l.Rank, lost: l.LostShare,
				from: l.First, to: l.Last, Before: float64(l.First-l.From) < r.SpanNS/20 && r.SpanNS > 0,
				Collectives: &lateness{
					Late: l.Times, Of: l.Collectives, Every: l.Every, LateMS: ms(l.MedianNS), MaxMS: ms(l.MaxNS),
					PeersMAD: ms(r.UsualNS), OwnMS: ms(l.OwnNS), PeerOwnMS: ms(l.PeerNS), Waiting: l.Waiting,
					LostPct: percent(l.LostShare),
				},
			}
		}
	}
	slices.SortStableFunc(not, func(a, b *arrival.Late) int { return cmp.Compare(b.LostNS, a.LostNS) })
	for _, l := range not[:min(len(not), maxOthers)] {
		s.NotBlamed = append(s.NotBlamed, prose(fmt.Sprintf("rank %d of %s, late %d times of %d: %s", l.Rank.Rank,
			name(l.Node), l.Times, l.Collectives, l.Why)))
	}
}

// told returns the straggler that an agent's event is about, if it is known: of the same process, or of the rank, if
// either does not say which process it is.
func told(e *question.Episode, who map[arrival.Process]*straggler) *straggler {
	rank := arrival.Rank{Cluster: e.Cluster, Node: e.Node, Rank: *e.Rank}
	if one := who[arrival.Process{Rank: rank, PID: e.PID}]; one != nil || e.PID != 0 {
		return cmp.Or(one, who[arrival.Process{Rank: rank}])
	}
	var best *straggler
	for _, one := range who {
		if one.rank == rank && (best == nil || one.lost > best.lost || one.lost == best.lost && one.PID < best.PID) {
			best = one
		}
	}
	return best
}

// addEpisode adds what an agent reported.
func (s *stragglersOut) addEpisode(e *question.Episode, who map[arrival.Process]*straggler) {
	if !e.Straggler() || e.Rank == nil {
		if len(s.Others) < maxOthers {
			s.Others = append(s.Others, prose(fmt.Sprintf("%s: %s, since %s", name(e.Node), eventText(e), moment(e.Since))))
		}
		return
	}
	one := told(e, who)
	if one == nil {
		one = &straggler{
			ClusterID: name(e.Cluster), NodeID: name(e.Node), Rank: *e.Rank, PID: e.PID,
			rank: arrival.Rank{Cluster: e.Cluster, Node: e.Node, Rank: *e.Rank}, from: e.Since, to: e.Until,
			Resolved: e.Resolved,
		}
		if e.LostMS != nil && e.StepMS != nil && *e.StepMS > 0 {
			one.lost = *e.LostMS / *e.StepMS
		}
		who[one.process()] = one
	}
	if !e.Resolved || e.Until >= one.from { // else it was well between
		one.from, one.to = min(one.from, e.Since), max(one.to, e.Until)
	}
	if one.Agent != nil { // the newest one is already there
		return
	}
	one.Agent = &agentSays{
		ExcessPct: rounded(e.Excess, 100), OwnMS: rounded(e.OwnMS, 1), PeerMS: rounded(e.PeerMS, 1),
		LostMS: rounded(e.LostMS, 1), EventID: name(e.ID),
	}
	if e.Cause != "" && e.Cause != "unexplained" {
		one.Why = why{
			Kind: name(e.Cause), Culprit: name(e.Culprit), ExplainedPct: rounded(e.Explained, 100),
			By: "event of the node's agent",
		}
	}
}

func rounded(v *float64, times float64) *float64 {
	if v == nil {
		return nil
	}
	r := round(*v*times, 1)
	return &r
}

type nodeKey struct{ cluster, node string }
