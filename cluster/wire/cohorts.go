package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
)

// CohortsPath is where a fleet serves its CohortList.
const CohortsPath = "/api/v1/cohorts"

// MaxCohortList bounds the list, in bytes; MaxListed bounds its ranks.
const (
	MaxCohortList = 8 << 20
	MaxListed     = 20_000
)

// CohortList is what a fleet knows of the ranks that push to it.
type CohortList struct {
	Cohorts []Cohorts `json:"cohorts"`
	// Whole is false if there are more ranks than are listed.
	Whole bool `json:"whole"`
}

// Cohorts is a cohort. Times are per step, in milliseconds; unknown ones are left out.
type Cohorts struct {
	Cluster  string       `json:"cluster_id"`
	Cohort   string       `json:"cohort"` // 16 hexadecimal digits
	Ranks    int          `json:"ranks"`
	Live     int          `json:"live"` // ranks that pushed lately
	StepMS   float64      `json:"step_ms,omitempty"`
	Degraded bool         `json:"degraded,omitempty"` // many turned suspect at once
	Slow     bool         `json:"slow,omitempty"`     // most are slower than they were
	Members  []CohortRank `json:"members"`
}

// CohortRank is a rank of a cohort.
type CohortRank struct {
	Rank    int32   `json:"rank"`
	Node    string  `json:"node_id"`
	State   string  `json:"state"`
	OwnMS   float64 `json:"own_ms,omitempty"`
	PeerMS  float64 `json:"peer_ms,omitempty"` // median of the others' own work
	AgeS    float64 `json:"age_s"`             // since its last push
	Missing bool    `json:"missing,omitempty"` // its node is silent
	Hung    bool    `json:"hung,omitempty"`    // others wait for it in a collective that does not end
}

// ParseCohortList parses a fleet's list. Texts are made printable.
func ParseCohortList(b []byte) (*CohortList, error) {
	if len(b) > MaxCohortList {
		return nil, wrong(Limit, "", "the list has %d bytes; %d at most", len(b), MaxCohortList)
	}
	var l CohortList
	if err := json.Unmarshal(b, &l); err != nil {
		return nil, wrong(Malformed, "", "it is not a list of cohorts")
	}
	for i := range l.Cohorts {
		c := &l.Cohorts[i]
		c.Cluster, c.Cohort = clip(c.Cluster), clip(c.Cohort)
		for k := range c.Members {
			c.Members[k].Node, c.Members[k].State = clip(c.Members[k].Node), clip(c.Members[k].State)
		}
	}
	return &l, nil
}

// Text returns the columns of the rank's line in a table.
func (r *CohortRank) Text() (own, peer, slower, state string) {
	own, peer, slower = "-", "-", ""
	if r.OwnMS > 0 {
		own = fmt.Sprintf("%.4g ms", r.OwnMS)
	}
	if r.PeerMS > 0 {
		peer = fmt.Sprintf("%.4g ms", r.PeerMS)
	}
	if r.OwnMS > 0 && r.PeerMS > 0 {
		slower = fmt.Sprintf("%+.0f %%", 100*(r.OwnMS/r.PeerMS-1))
	}
	list := []string{r.State}
	if r.Hung {
		list = append(list, "others wait for it")
	}
	if r.Missing {
		list = append(list, "nothing came for "+time.Duration(r.AgeS*float64(time.Second)).Round(time.Second).String())
	}
	return own, peer, slower, strings.Join(list, ", ")
}

// silentFor is the age of the last push from which on a rank is not live, in seconds: three pushes.
var silentFor = (3 * health.PushEvery).Seconds()

// MergeCohorts joins the lists of several fleets. If more than one has a rank, the newest entry counts: the rank has
// moved.
func MergeCohorts(lists ...*CohortList) *CohortList {
	if len(lists) == 1 {
		return lists[0]
	}
	type key struct{ cluster, cohort string }
	out := &CohortList{Cohorts: []Cohorts{}, Whole: true}
	at := map[key]int{}
	for _, l := range lists {
		out.Whole = out.Whole && l.Whole
		for i := range l.Cohorts {
			c := l.Cohorts[i]
			k, known := at[key{c.Cluster, c.Cohort}]
			if !known {
				at[key{c.Cluster, c.Cohort}] = len(out.Cohorts)
				c.Members = slices.Clone(c.Members)
				out.Cohorts = append(out.Cohorts, c)
				continue
			}
			out.Cohorts[k].merge(&c)
		}
	}
	slices.SortStableFunc(out.Cohorts, func(a, b Cohorts) int {
		return cmp.Or(cmp.Compare(a.Cohort, b.Cohort), cmp.Compare(a.Cluster, b.Cluster))
	})
	return out
}

// merge adds another fleet's view of the same cohort. Values of the cohort as a whole are from the fleet with more
// live ranks.
func (c *Cohorts) merge(o *Cohorts) {
	members, ranks := c.Members, max(c.Ranks, o.Ranks)
	if o.Live > c.Live {
		*c = *o
	}
	c.Ranks = ranks
	by := map[int32]CohortRank{}
	for _, m := range slices.Concat(members, o.Members) {
		if known, ok := by[m.Rank]; !ok || m.AgeS < known.AgeS {
			by[m.Rank] = m
		}
	}
	c.Live, c.Members = 0, make([]CohortRank, 0, len(by))
	for _, rank := range slices.Sorted(maps.Keys(by)) {
		m := by[rank]
		if m.AgeS < silentFor {
			c.Live++
		}
		c.Members = append(c.Members, m)
	}
}
