package mcptool

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/ingero-io/ingero/event"
)

type frequencyIn struct {
	scope
	paging
}

type frequencyOut struct {
	common
	Processes  []graphRate `json:"processes"`
	Graphs     []graphHeat `json:"graphs"`
	NextCursor string      `json:"next_cursor,omitempty"`
}

// graphRate is how often a process makes and launches graphs.
type graphRate struct {
	Process       data    `json:"process"`
	PID           uint32  `json:"pid"`
	LaunchHz      float64 `json:"launch_hz" jsonschema:"of whole seconds"`
	MinHz         uint64  `json:"min_hz"`
	MaxHz         uint64  `json:"max_hz"`
	InstantiateHz float64 `json:"instantiate_hz"`
	PerMade       float64 `json:"launches_per_instantiate"`
}

// graphHeat is how often an executable graph was launched.
type graphHeat struct {
	PID      uint32  `json:"pid"`
	Exec     string  `json:"graph_exec"`
	Launches uint64  `json:"launches"`
	Hz       float64 `json:"hz,omitempty"` // of those with enough stored launches
}

func (f frequencyOut) rows() int { return len(f.Graphs) }

var graphFrequencyTool = tool[frequencyIn, frequencyOut]{
	name:  "graph_frequency",
	about: "How often CUDA graphs are launched and made again.",
	run: func(ctx context.Context, s *server, in frequencyIn) (out frequencyOut, err error) {
		out.Processes, out.Graphs = []graphRate{}, []graphHeat{}
		err = s.readView(ctx, in.scopeOf(in.scope), &out.common, func(v *view) error {
			v.bySecond(&out.common)
			uses, err := v.graphUses(ctx)
			if err != nil || len(uses) == 0 {
				return err
			}
			if out.Processes, err = v.graphRates(ctx, besides(uses, &in.paging, &out.common)); err != nil {
				return err
			}
			lives, err := v.graphLives(ctx, &out.common)
			if err != nil {
				return err
			}
			list := heats(lives)
			out.Graphs, out.NextCursor, err = page(list, in.paging, in, &out.common)
			return err
		})
		return out, err
	},
}

// graphRates are the rates of each process, from the exact series.
func (v *view) graphRates(ctx context.Context, uses []graphUse) ([]graphRate, error) {
	series, err := v.OpSeries(ctx, v.Window, 1)
	if err != nil {
		return nil, err
	}
	rates := []graphRate{}
	for i := range uses {
		u := &uses[i]
		bySecond := map[uint64]uint64{}
		for j := range series {
			if o := &series[j]; o.PID == u.PID && o.Op.Source() == event.SourceGraph && o.Op.String() == "cudaGraphLaunch" {
				bySecond[o.Second] += o.Calls
			}
		}
		r := graphRate{Process: u.Process, PID: u.PID, PerMade: ratio(u.Launches, u.Instantiates)}
		r.LaunchHz, r.MinHz, r.MaxHz = rate(bySecond, v.length())
		r.InstantiateHz = hertz(u.Instantiates, v.length())
		rates = append(rates, r)
	}
	return rates, nil
}

// rate is the mean of the seconds with launches, and the extremes. The first and the last
// second are not full, so they are used only if there are no others: then the mean is
// that of the whole window, whose length is in ns.
func rate(bySecond map[uint64]uint64, length uint64) (mean float64, least, most uint64) {
	var last, all uint64
	first := uint64(math.MaxUint64)
	for s, n := range bySecond {
		first, last, all, most = min(first, s), max(last, s), all+n, max(most, n)
	}
	var sum, seconds uint64
	least = most
	for s, n := range bySecond {
		if s > first && s < last {
			sum, seconds, least = sum+n, seconds+1, min(least, n)
		}
	}
	if seconds+1 < last-first {
		least = 0 // in some of them there was none
	}
	if seconds == 0 {
		mean = hertz(all, length)
		return mean, uint64(mean), uint64(math.Ceil(mean))
	}
	return round(float64(sum) / float64(seconds)), least, most
}

// minStored is the least number of stored launches from which a rate is estimated, if
// launches were thinned.
const minStored = 10

// heats are the rates of single graphs, most launches first.
func heats(lives []graphLife) []graphHeat {
	var list []graphHeat
	for i := range lives {
		g := &lives[i]
		heat := graphHeat{PID: g.PID, Exec: g.Exec, Launches: g.Launches}
		if g.stored >= minStored || g.stored > 1 && g.stored == g.Launches {
			heat.Hz = hertz(g.Launches, g.last-min(g.first, g.last))
		}
		list = append(list, heat)
	}
	slices.SortStableFunc(list, func(a, b graphHeat) int {
		return cmp.Or(cmp.Compare(b.Launches, a.Launches), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Exec, b.Exec))
	})
	return list
}

// length is the length of the recorded part of the window, in ns, including all of each
// second that it touches, because counts are by the second.
func (v *view) length() uint64 {
	from, to := max(v.Window.From/1e9*1e9, v.Sum.First), v.Sum.Last
	if v.Window.To != 0 {
		to = min(to, (v.Window.To+1e9-1)/1e9*1e9)
	}
	return to - min(from, to)
}

func hertz(n, ns uint64) float64 {
	if ns == 0 {
		return 0
	}
	return round(float64(n) * 1e9 / float64(ns))
}

func ratio(a, b uint64) float64 {
	if b == 0 {
		return 0
	}
	return round(float64(a) / float64(b))
}

// round keeps three decimals.
func round(v float64) float64 { return math.Round(v*1000) / 1000 }
