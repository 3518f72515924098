package nodeapi

import (
	"context"
	"net/http"
	"reflect"

	"github.com/ingero-io/ingero/explain/compare"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
)

// route is a request that the API answers.
type route struct {
	method, path string
	about        string
	params       []string
	body         bool         // a wire.Question
	free         bool         // cheap: needs no place in the gate
	answer       reflect.Type // nil: see kind
	kind         string       // content type, if not JSON
	run          func(ctx context.Context, a *API, in *input) (any, error)
}

// scope is the parameters for the part of a recording.
var scope = []string{"since", "from", "to", "pid", "process"}

func with(more ...string) []string { return append(append([]string{}, scope...), more...) }

// get is a route that answers Out.
func get[Out any](name, about string, params []string, run func(context.Context, *API, *input) (Out, error)) route {
	return route{
		method: http.MethodGet, path: Prefix + name, about: about, params: params, answer: reflect.TypeFor[Out](),
		run: func(ctx context.Context, a *API, in *input) (any, error) { return run(ctx, a, in) },
	}
}

func (rt route) freely() route {
	rt.free = true
	return rt
}

func (rt route) asking() route {
	rt.method, rt.body = http.MethodPost, true
	return rt
}

// routes is the list of requests. A new one is a line here and a function.
func routes() []route {
	return []route{
		get[wire.Health]("healthz", "Whether the recording can be read. The status is 503 if not.", nil, healthz).freely(),
		get[wire.Time]("time", "This machine's clock, for measuring by how much clocks differ.", nil, clock).freely(),
		get[wire.Overview]("overview", "The recording at a glance: verdict, sessions, losses.", scope, overview),
		get[wire.Ops]("ops", "Exact statistics of each operation of each process, most time first.", with("op", "limit"),
			ops),
		get[*report.Report]("chains",
			"What made the GPU wait: causes with their proof, as \"ingero explain --json\" prints it.", scope, chains),
		get[wire.Timeline]("timeline", "Calls and off-CPU intervals one by one, in order of time; go on from next_ns.",
			with("tid", "op", "limit"), timeline),
		get[wire.Lanes]("lanes",
			"What each thread did: calls and waits one by one if they are few, else summed up in buckets of time.", laneParams,
			laneTimes),
		get[wire.Heatmap]("heatmap",
			"How long the calls of an operation took, counted over time; without op that which took most time.",
			with("tid", "op", "columns"), heatmap),
		get[wire.Stacks]("stacks", "Which code makes the calls.", with("op", "by", "slow", "limit"), stacks),
		get[wire.Waits]("waits", "Where threads waited off the CPU: by operation, class and place in the kernel.",
			with("op", "by", "limit"), waits),
		get[wire.CallSites]("call_sites",
			"Exact statistics of waits for the GPU by where in its code the program makes them.",
			with("op", "limit"), callSites),
		get[*compare.Result]("compare",
			"What changed from a to b: two parts of the recording, or of those it may be compared with.",
			[]string{"a", "b"}, compared),
		get[wire.Labels]("labels",
			"What processes said they work on, such as steps and epochs, with the time in which it held.", with("limit"),
			labels),
		get[wire.Processes]("processes", "The processes of the recording, with their threads and ranks.",
			[]string{"pid", "process"}, processes),
		get[wire.Snapshots]("snapshots", "Readings of the machine and its GPUs.", []string{"since", "from", "to"}, snapshots),
		get[wire.Rows]("query", "One read-only SQLite statement; docs/sql.md has the views. It may take 5 s and 16 KiB.", nil,
			query).asking(),
		get[wire.Recording]("recording", "What was recorded, and when: cheap, because no causes are looked for.", nil,
			recorded),
		get[wire.Ledgers]("ledger", "Where each thread's time went: on a CPU, or off it by class, in calls and between them.",
			scope, ledgers),
		{
			method: http.MethodGet, path: Prefix + "side",
			about:  "A part of the recording as \"ingero compare --nodes\" reads it; its form may change with any version.",
			params: []string{"a"}, kind: "application/json", run: side,
		},
		{
			method: http.MethodGet, path: Prefix + "openapi.json", about: "This document.", free: true, kind: "application/json",
			run: openAPI,
		},
		{method: http.MethodGet, path: "/metrics", about: "The recording's state for Prometheus. What is traced right now " +
			"is told by \"ingero trace --prometheus\".", kind: metricsType, run: metrics},
	}
}
