package mcptool

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/echo/arrival"
	"github.com/ingero-io/ingero/echo/cost"
	"github.com/ingero-io/ingero/echo/question"
)

type costIn struct {
	scope
	Rate float64 `json:"per_gpu_hour,omitempty" jsonschema:"of all GPUs; default by model, from the rates' file"`
	paging
}

type costOut struct {
	common
	Verdict  data           `json:"verdict"`
	GPUHours float64        `json:"gpu_hours" jsonschema:"in which GPUs only waited; of all parts"`
	Money    float64        `json:"money"`
	Currency string         `json:"currency"`
	Rates    ratesUsed      `json:"rates"`
	Seen     stragglersSeen `json:"seen"`
	Waste    []waste        `json:"waste" jsonschema:"most costly first"`
	Next     []next         `json:"next"`

	NextCursor string `json:"next_cursor,omitempty"`
}

type ratesUsed struct {
	Source string `json:"source"`
	Date   string `json:"date"`
}

type waste struct {
	ClusterID data    `json:"cluster_id"`
	NodeID    data    `json:"node_id"`
	Rank      int32   `json:"rank" jsonschema:"that was waited for"`
	LostS     float64 `json:"lost_s,omitempty" jsonschema:"by which the job was delayed"`
	Waiting   int     `json:"waiting_ranks"`
	GPUHours  float64 `json:"gpu_hours"`
	PerHour   float64 `json:"per_gpu_hour"`
	GPUs      data    `json:"gpus" jsonschema:"that waited"`
	Money     float64 `json:"money"`
	By        string  `json:"by"`

	rank   arrival.Rank
	waited float64 // waiting time of all ranks, ns
	// waitedBy is that by node; nil: it is not known which ranks waited.
	waitedBy map[string]float64
}

func (c costOut) rows() int { return len(c.Waste) }

const costName = "fleet.cluster.get_cost"

var costTool = tool[costIn, costOut]{
	name:  costName,
	about: "What waiting for late ranks costs: lost time times waiting ranks, in GPU-hours and money.",
	run: func(ctx context.Context, s *Tools, in costIn) (out costOut, err error) {
		at, pinned, err := in.begin(in)
		if err != nil {
			return out, err
		}
		if !(in.Rate >= 0) || in.Rate > 1e6 {
			return out, wrong("per_gpu_hour must be above 0")
		}
		sc, err := s.window(ctx, &out.common, in.ClusterID, cmp.Or(pinned, in.Window))
		if err != nil {
			return out, err
		}
		list, err := s.wasted(ctx, sc, &out)
		if err != nil {
			return out, err
		}
		if err := s.priced(ctx, sc, &in, &out, list); err != nil {
			return out, err
		}
		out.Next = []next{{Tool: stragglersName, Arguments: about(in.ClusterID, out.Window), Why: "why they are late"}}
		page, rest := part(list, in.paging, at, out)
		if out.Waste = page; rest > 0 {
			out.NextCursor = in.next(rest, in, out.Window)
		}
		return out, nil
	},
}

// wasted returns who was waited for, without prices: from collectives, or, of ranks of jobs whose collectives blame
// nobody, from agents' events. It never uses both, which would count the same time twice.
func (s *Tools) wasted(ctx context.Context, sc question.Scope, out *costOut) ([]waste, error) {
	results, _, err := s.late(ctx, sc, &out.Seen, &out.common)
	if err != nil {
		return nil, err
	}
	var list []waste
	known := map[arrival.Rank]bool{} // ranks of jobs whose collectives say who was waited for
	for i := range results {
		for _, l := range results[i].Late {
			if !l.Blamed {
				continue
			}
			list = append(list, waste{
				rank: l.Rank, waited: l.WaitedNS, LostS: round(l.LostNS/1e9, 1), Waiting: l.Waiting, By: "collectives",
				waitedBy: l.WaitedBy,
			})
			for _, r := range results[i].Ranks {
				known[r.Rank] = true
			}
		}
	}
	episodes, more, err := s.ask.Episodes(ctx, sc)
	if err != nil {
		return nil, err
	}
	out.cut(more, "events of ranks")
	out.Seen.AgentEvents = len(episodes)
	list = append(list, out.byEvents(episodes, known, sc)...)
	slices.SortStableFunc(list, func(a, b waste) int { return cmp.Compare(b.waited, a.waited) })
	return list, nil
}

// jobEvents are agents' events of a job's ranks.
type jobEvents struct {
	ranks []arrival.Rank
	list  []cost.Episode
}

// byEvents returns the waste by agents' events, but for ranks of which it is known already. An event that has not ended
// lasts until the last row from its node.
func (c *costOut) byEvents(episodes []question.Episode, known map[arrival.Rank]bool, sc question.Scope) []waste {
	var out []waste
	hidden := 0
	for _, of := range c.byJob(episodes, known, sc) {
		for i, l := range cost.Losses(of.list) {
			if l.WaitedNS == 0 {
				hidden++
				continue
			}
			out = append(out, waste{
				rank: of.ranks[i], waited: l.WaitedNS, Waiting: int(math.Round(l.WaitedNS / l.LostNS)),
				LostS: round(l.LostNS/1e9, 1), By: "the agent's event, while it lasted",
			})
		}
	}
	if hidden > 0 {
		c.addNote("%s of agents not added: another rank was slower at the time", counted(hidden, "event"))
	}
	return out
}

// byJob returns the events that say what they cost, by job, and notes how many others there are.
func (c *costOut) byJob(episodes []question.Episode, known map[arrival.Rank]bool, sc question.Scope) []*jobEvents {
	type job struct {
		cluster, cohort string
		ranks           int
	}
	jobs, order, numbers := map[job]*jobEvents{}, []*jobEvents{}, map[arrival.Rank]int{}
	twice, unknown := 0, 0
	for i := range episodes {
		e := &episodes[i]
		if !e.Straggler() || e.Rank == nil {
			continue
		}
		rank := arrival.Rank{Cluster: e.Cluster, Node: e.Node, Rank: *e.Rank}
		if known[rank] {
			twice++
			continue
		}
		if _, seen := numbers[rank]; !seen {
			numbers[rank] = len(numbers)
		}
		one := cost.Episode{
			Rank: numbers[rank], FromNS: max(e.Since, sc.From), ToNS: min(e.Until, sc.To), LostMS: value(e.LostMS),
			StepMS: value(e.StepMS), Ranks: e.Ranks,
		}
		if !one.Known() {
			unknown++
			continue
		}
		k := job{cluster: e.Cluster, cohort: e.Cohort}
		if e.Cohort == "" { // those of as many ranks are taken for one job
			k.ranks = e.Ranks
		}
		if jobs[k] == nil {
			jobs[k] = &jobEvents{}
			order = append(order, jobs[k])
		}
		jobs[k].ranks, jobs[k].list = append(jobs[k].ranks, rank), append(jobs[k].list, one)
	}
	if twice > 0 {
		c.addNote("%s of agents not added: their jobs' collectives have that time", counted(twice, "event"))
	}
	if unknown > 0 {
		c.addNote("%s of agents not in the sum: how long a step takes, or how many ranks wait, is not said",
			counted(unknown, "event"))
	}
	return order
}

// priced adds prices: each rank has one GPU, of its node's model.
func (s *Tools) priced(ctx context.Context, sc question.Scope, in *costIn, out *costOut, list []waste) error {
	rates := s.options.Rates
	out.Currency, out.Rates = rates.Currency, ratesUsed{rates.Source, rates.Date}
	if in.Rate > 0 {
		out.Rates = ratesUsed{"the argument per_gpu_hour", moment(s.options.Now().UnixNano())[:len("2006-01-02")]}
	}
	nodes, _, err := s.ask.Nodes(ctx, sc)
	if err != nil {
		return err
	}
	keys := make([]nodeKey, len(nodes))
	for i := range nodes {
		keys[i] = nodeKey{nodes[i].Cluster, nodes[i].Node}
	}
	models, err := s.models(ctx, sc, keys)
	if err != nil {
		return err
	}
	total := 0.0
	for i := range list {
		w := &list[i]
		w.ClusterID, w.NodeID, w.Rank = name(w.rank.Cluster), name(w.rank.Node), w.rank.Rank
		w.PerHour, w.GPUs = waiting(nodes, models, w, rates)
		if in.Rate > 0 {
			w.PerHour = in.Rate
		}
		is := cost.Waited(w.waited, w.PerHour)
		w.GPUHours, w.Money, w.PerHour = significant(is.GPUHours, 4), significant(is.Money, 4), significant(w.PerHour, 4)
		out.GPUHours, out.Money, total = out.GPUHours+is.GPUHours, out.Money+is.Money, total+w.waited
	}
	out.GPUHours, out.Money = significant(out.GPUHours, 4), significant(out.Money, 4)
	switch {
	case total > 0:
		ranks := map[arrival.Rank]bool{} // a rank may have been slow more than once
		for i := range list {
			ranks[list[i].rank] = true
		}
		out.Verdict = data(fmt.Sprintf("%v GPU-hours of waiting for %s, %v %s by rates of %s (%s)", out.GPUHours,
			counted(len(ranks), "rank"), out.Money, out.Currency, out.Rates.Date, firstWords(out.Rates.Source)))
	case out.Seen.Collectives == 0 && out.Seen.AgentEvents == 0:
		out.Verdict = "not known: in this window no node reported collectives, and no agent ranks"
	default:
		out.Verdict = "nobody is blamed for waiting in this window; that is no proof that nobody waited"
	}
	return nil
}

// firstWords returns the text before a colon.
func firstWords(s string) string {
	s, _, _ = strings.Cut(s, ":")
	return s
}

// waiting returns the mean rate of the GPUs of the ranks that waited, and their models. If it is not known which ranks
// did, they are taken for like the cluster's.
func waiting(nodes []question.Node, models map[nodeKey]data, w *waste, rates cost.Rates) (float64, data) {
	by := w.waitedBy
	if by == nil {
		by = map[string]float64{}
		for _, node := range nodes {
			if node.Cluster == w.rank.Cluster {
				by[node.Node] = float64(node.Ranks)
			}
		}
		by[w.rank.Node]--
	}
	sum, all := 0.0, 0.0
	byName := map[string]float64{}
	for node, waited := range by {
		if waited <= 0 {
			continue
		}
		r, known := rates.Of(string(models[nodeKey{w.rank.Cluster, node}]))
		if !known {
			r.GPU = "of unknown price"
		}
		byName[r.GPU] += waited
		sum, all = sum+waited*r.PerHour, all+waited
	}
	if all == 0 {
		return rates.Default, "not known"
	}
	var names []string
	for gpu, waited := range byName {
		names = append(names, fmt.Sprintf("%.0f %s", max(1, waited/all*float64(w.Waiting)), gpu))
	}
	slices.Sort(names)
	return sum / all, prose(strings.Join(names, ", "))
}
