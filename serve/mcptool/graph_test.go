package mcptool_test

import (
	"strings"
	"testing"

	"github.com/ingero-io/ingero/serve/mcptool"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

type graphRow struct {
	PID      int
	Exec     string `json:"graph_exec"`
	Launches int
	LaunchNS int `json:"launch_ns"`
	Made     string
	Hz       float64
}

type graphUse struct {
	Instantiates, Launches, Destroyed int
	PerMade                           float64 `json:"launches_per_instantiate"`
	LaunchHz                          float64 `json:"launch_hz"`
}

// TestGraphsAreThoseOfTheView compares with the view that "ingero query" shows.
func TestGraphsAreThoseOfTheView(t *testing.T) {
	path := made(t, storetest.Load{Calls: 50_000, Rate: 4000, Graphs: true})
	cs := connect(t, path, mcptool.Options{})
	var life struct {
		Processes []graphUse
		Graphs    []graphRow
	}
	call(t, cs, "graph_lifecycle", map[string]any{"since": "all", "limit": 1000}, &life)
	rows, err := sqlite.Query(t.Context(), path, "select format('%#x', graph_exec), cast(launches as integer), "+
		"cast(launch_ns as integer) from graph_execs order by timestamp desc", store.Limits{})
	must(t, err)
	defer rows.Close()
	n, instantiated, launches := 0, 0, 0
	for rows.Next() {
		v := rows.Values()
		for n < len(life.Graphs) && life.Graphs[n].Made == "" {
			n++ // the view has none from before the recording
		}
		if n >= len(life.Graphs) {
			t.Fatalf("%d graphs, the view has more", n)
		}
		g := life.Graphs[n]
		if g.Exec != v[0] || int64(g.Launches) != v[1] || int64(g.LaunchNS) != v[2] {
			t.Errorf("graph %d: %+v, the view has %v", n, g, v)
		}
		n++
		instantiated++
	}
	must(t, rows.Err())
	for _, g := range life.Graphs {
		launches += g.Launches
	}
	// Each of 8 graphs is made at the begin, but for one, and twice again.
	if want := (graphUse{Instantiates: 23, Launches: 2273, Destroyed: 16}); instantiated != 23 || launches != 2273 ||
		len(life.Processes) != 1 || life.Processes[0] != want {
		t.Errorf("%d graphs, %d launches, %+v, want %+v", instantiated, launches, life.Processes, want)
	}
	var often struct {
		Processes []graphUse
		Graphs    []graphRow
	}
	call(t, cs, "graph_frequency", map[string]any{"since": "all"}, &often)
	if p := often.Processes; len(p) != 1 || p[0].LaunchHz < 170 || p[0].LaunchHz > 190 || p[0].PerMade != 98.826 {
		t.Errorf("%+v, want 182 launches a second, each graph launched 98.8 times", p)
	}
	if g := often.Graphs; len(g) == 0 || g[0].Hz < 22 || g[0].Hz > 24 {
		t.Errorf("%+v, want about 22.7 launches a second of each graph", g)
	}
}

// TestThinnedGraphsAreCalledEstimates: where only some launches are stored, each stands
// for others, of other graphs.
func TestThinnedGraphsAreCalledEstimates(t *testing.T) {
	cs := connect(t, "../../investigations/graph-recapture.db", mcptool.Options{})
	whole := connect(t, made(t, storetest.Load{Calls: 5000, Rate: 400, Graphs: true}), mcptool.Options{})
	for _, tool := range []string{"graph_lifecycle", "graph_frequency"} {
		var out struct {
			Note      string
			Processes []struct {
				LaunchHz float64 `json:"launch_hz"`
				Min      float64 `json:"min_hz"`
				Max      float64 `json:"max_hz"`
			}
		}
		call(t, cs, tool, map[string]any{}, &out)
		if !strings.Contains(out.Note, "calls on graphs are stored, so what is said of single graphs is estimated") {
			t.Errorf("%s of a thinned recording: %q", tool, out.Note)
		}
		for _, p := range out.Processes {
			if p.LaunchHz < p.Min || p.LaunchHz > p.Max {
				t.Errorf("%s: %+v: the mean is not between the extremes", tool, p)
			}
		}
		out.Note = ""
		if call(t, whole, tool, map[string]any{}, &out); strings.Contains(out.Note, "estimated") {
			t.Errorf("%s of a recording that is whole: %q", tool, out.Note)
		}
	}
}
