package mcptool

import "context"

type fleetIn struct {
	Action action `json:"action"`
	SQL    string `json:"sql,omitempty"`
	Since  string `json:"since,omitempty"`
}

type fleetOut struct {
	Lost  map[string]uint64 `json:"lost"`
	Nodes []data            `json:"nodes"`
	Note  string            `json:"note"`
}

func (f fleetOut) rows() int { return len(f.Nodes) }

var queryFleetTool = tool[fleetIn, fleetOut]{
	name:  "query_fleet",
	about: "Ask all nodes of a cluster at once.",
	run: func(context.Context, *server, fleetIn) (fleetOut, error) {
		return fleetOut{
			Lost: map[string]uint64{}, Nodes: []data{},
			Note: "no nodes configured: this server answers for one recording; use diagnose, get_trace_stats or run_sql on it, and ask the server of each other node",
		}, nil
	},
}
