package wire

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"github.com/ingero-io/ingero/cluster/health"
)

// Poll is an agent's question between two pushes.
type Poll struct {
	Cluster, Node string // names
	// Health is the question. Without a cohort it is from an earlier agent, which asks for the threshold of its cluster.
	Health health.Poll
}

// Query returns the query of a poll's URL.
func (p *Poll) Query() string {
	q := url.Values{"cluster_id": {p.Cluster}}
	if h := &p.Health; h.Cohort != 0 {
		q.Set("cohort", fmt.Sprintf("%016x", h.Cohort))
		q.Set("node", p.Node)
		q.Set("rank", strconv.Itoa(int(h.Rank)))
		q.Set("state", h.State.String())
	}
	return q.Encode()
}

// ParsePoll parses the query of a poll's URL. It ignores what it does not know.
func ParsePoll(query string) (Poll, error) {
	if len(query) > MaxQuery {
		return Poll{}, wrong(Limit, "", "the query has %d bytes; %d at most", len(query), MaxQuery)
	}
	q, err := url.ParseQuery(query)
	if err != nil {
		return Poll{}, wrong(Malformed, "", "it is not the query of a URL")
	}
	p := Poll{Cluster: q.Get("cluster_id"), Node: q.Get("node")}
	if err := checkName("cluster_id", p.Cluster); err != nil {
		return Poll{}, err
	}
	if !q.Has("cohort") {
		return Poll{Cluster: p.Cluster}, nil
	}
	if err := checkName("node", p.Node); err != nil {
		return Poll{}, err
	}
	if p.Node == "" {
		return Poll{}, wrong(Value, "node", "is missing")
	}
	p.Health.Node = Node(p.Node)
	if p.Health.Cohort, err = parseCohort(q.Get("cohort")); err != nil {
		return Poll{}, err
	}
	rank, err := strconv.ParseUint(q.Get("rank"), 10, 32)
	if err != nil || rank >= maxWorld {
		return Poll{}, wrong(Value, "rank", "is not a whole number from 0 to %d", maxWorld-1)
	}
	p.Health.Rank = int32(rank)
	for s := health.Calibrating; s <= health.Straggler; s++ {
		if q.Get("state") == s.String() {
			p.Health.State = s
			return p, nil
		}
	}
	return Poll{}, wrong(Value, "state", "is none")
}

func parseCohort(text string) (uint64, error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 8 {
		return 0, wrong(Value, "cohort", "is not of 16 hexadecimal digits")
	}
	v, err := strconv.ParseUint(text, 16, 64)
	if err != nil || v == 0 {
		return 0, wrong(Value, "cohort", "is 0, which is none")
	}
	return v, nil
}

// answer is the answer to a poll. The first two fields are published; one without the other counts as none.
type answer struct {
	Threshold *float64 `json:"threshold,omitempty"`
	Quorum    bool     `json:"quorum_met"`
	Reply     string   `json:"reply,omitempty"`
}

// FormatAnswer returns the answer to a poll as JSON.
func FormatAnswer(a Answer) ([]byte, error) {
	var j answer
	if usableThreshold(a.Threshold) {
		j.Threshold, j.Quorum = &a.Threshold, a.Quorum
	}
	if a.Reply != nil {
		text, err := FormatReply(a.Reply)
		if err != nil {
			return nil, within("reply", err)
		}
		j.Reply = text
	}
	b, err := json.Marshal(j)
	return append(b, '\n'), err
}

// ParseAnswer parses the answer to a poll. A pair of threshold and quorum that is incomplete or out of range counts
// as none.
func ParseAnswer(b []byte) (Answer, error) {
	none := Answer{Threshold: NoThreshold()}
	if len(b) > MaxAnswer {
		return none, wrong(Limit, "", "the answer has %d bytes; %d at most", len(b), MaxAnswer)
	}
	var j struct {
		Threshold *float64 `json:"threshold"`
		Quorum    *bool    `json:"quorum_met"`
		Reply     string   `json:"reply"`
	}
	if err := json.Unmarshal(b, &j); err != nil {
		return none, wrong(Malformed, "", "the answer is not JSON of the form that is expected")
	}
	a := none
	if j.Threshold != nil && j.Quorum != nil && usableThreshold(*j.Threshold) {
		a.Threshold, a.Quorum = *j.Threshold, *j.Quorum
	}
	if j.Reply == "" {
		return a, nil
	}
	var err error
	if a.Reply, err = ParseReply(j.Reply); err != nil {
		return a, within("reply", err)
	}
	return a, nil
}
