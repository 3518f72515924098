package numbers

import (
	"encoding/json"
	"fmt"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// question is a call of a tool.
type question struct {
	name string // of its fields
	tool string
	args map[string]any
	read func(map[string]any) map[string]any // puts tables into the form of lists of objects; nil: as it is
}

// questions are asked about each recording. The program may not be the only one in it.
func questions(t *cudastub.Truth) []question {
	own := map[string]any{"pid": t.PID}
	rows := func(more map[string]any) map[string]any {
		more["limit"] = 1000
		return more
	}
	sql := func(name, format string) question {
		args := map[string]any{"sql": fmt.Sprintf(format, t.PID)}
		return question{"run_sql." + name, "run_sql", rows(args), byColumn("rows")}
	}
	return []question{
		{"diagnose", "diagnose", map[string]any{}, nil},
		{"get_causal_chains", "get_causal_chains", rows(map[string]any{}), nil},
		{"get_trace_stats", "get_trace_stats", rows(map[string]any{"pid": t.PID}), sumOffCPU},
		{
			"get_trace_stats.by_call_site", "get_trace_stats",
			rows(map[string]any{"pid": t.PID, "by": "call_site"}), sumCallSites,
		},
		{"get_stacks", "get_stacks", rows(map[string]any{"pid": t.PID}), nil},
		{"get_timeline", "get_timeline", own, sumTimeline},
		{"graph_frequency", "graph_frequency", rows(map[string]any{"pid": t.PID}), sumOf("graphs", "launches")},
		{"graph_lifecycle", "graph_lifecycle", rows(map[string]any{"pid": t.PID}), sumOf("graphs", "launches", "launch_ns")},
		{"get_check", "get_check", map[string]any{}, nil},
		sql("cuda_events", `select op, pid, count(*) as calls, sum(duration_ns) as total_ns, avg(duration_ns) as avg_ns,
			max(duration_ns) as max_ns from cuda_events where pid = %d group by op, pid`),
		sql("events_by_window",
			`select sum(n) as calls_of_all, sum(ns) as ns_of_all from (select (timestamp/30000000000)*30 as w,
			count(*) as n, sum(duration) as ns from events where pid = %d and depth = 0 and op like 'cu%%%%' group by w)`),
		sql("op_seconds", `select op, pid, sum(calls) as calls, sum(sum_ns) as total_ns, max(max_ns) as max_ns
			from op_seconds where pid = %d group by op, pid`),
		sql("thread_times",
			`select pid, sum(runq_ns + throttled_ns) as runnable_ns, sum(duration_ns - on_cpu_ns) as off_cpu_ns
			from thread_times where pid = %[1]d and tid in (select tid from op_seconds where pid = %[1]d) group by pid`),
	}
}

// byColumn makes objects of a table's rows.
func byColumn(field string) func(map[string]any) map[string]any {
	return func(a map[string]any) map[string]any {
		return map[string]any{field: objects(a["columns"], a[field])}
	}
}

func objects(columns, rows any) []any {
	names, _ := columns.([]any)
	table, _ := rows.([]any)
	list := []any{}
	for _, r := range table {
		values, _ := r.([]any)
		o := map[string]any{}
		for i, v := range values {
			if name, ok := names[i].(string); ok {
				o[name] = v
			}
		}
		list = append(list, o)
	}
	return list
}

// sumOf adds sums of fields of a list to an answer, as NAME_of_all.
func sumOf(list string, names ...string) func(map[string]any) map[string]any {
	return func(a map[string]any) map[string]any {
		elements, _ := a[list].([]any)
		if _, more := a["next_cursor"]; more || len(elements) == 0 {
			return a
		}
		for _, name := range names {
			var sum float64
			for _, e := range elements {
				if o, ok := e.(map[string]any); ok {
					v, _ := o[name].(float64)
					sum += v
				}
			}
			a[name+"_of_all"] = sum
		}
		return a
	}
}

// sumCallSites has the rows as call_sites, and what they add up to by operation as ops.
func sumCallSites(a map[string]any) map[string]any {
	list, _ := a["ops"].([]any)
	delete(a, "ops")
	a["call_sites"] = list
	if _, more := a["next_cursor"]; more {
		return sumOffCPU(a)
	}
	by := map[any]map[string]any{}
	ops := []any{}
	for _, e := range list {
		o, _ := e.(map[string]any)
		sum := by[o["op"]]
		if sum == nil {
			sum = map[string]any{"op": o["op"], "pid": o["pid"], "calls": 0.0, "total_ns": 0.0, "max_ns": 0.0}
			by[o["op"]] = sum
			ops = append(ops, sum)
		}
		sum["calls"] = number(sum, "calls") + number(o, "calls")
		sum["total_ns"] = number(sum, "total_ns") + number(o, "total_ns")
		sum["max_ns"] = max(number(sum, "max_ns"), number(o, "max_ns"))
	}
	a["ops"] = ops
	return sumOffCPU(a)
}

// sumOffCPU adds up the classes of waiting.
func sumOffCPU(a map[string]any) map[string]any {
	list, _ := a["off_cpu"].([]any)
	var all, runnable float64
	for _, e := range list {
		o, _ := e.(map[string]any)
		ns, _ := o["ns"].(float64)
		all += ns
		if o["class"] == "runq" || o["class"] == "throttled" {
			runnable += ns
		}
	}
	a["off_cpu_ns"], a["runnable_ns"] = all, runnable
	return a
}

// sumTimeline makes objects of the buckets, and adds up what they say.
func sumTimeline(a map[string]any) map[string]any {
	list := objects(a["columns"], a["buckets"])
	a["buckets"] = list
	var calls, steps, inCalls float64
	for i, e := range list {
		o, _ := e.(map[string]any)
		begin, end := number(o, "at_s"), number(a, "end_s")
		if i+1 < len(list) {
			next, _ := list[i+1].(map[string]any)
			end = number(next, "at_s")
		}
		span := (end - begin) * 1e9
		perSecond, _ := o["calls_per_s"].(float64)
		step, _ := o["step_ms"].(float64)
		pct, _ := o["in_calls"].(float64)
		calls += perSecond * span / 1e9
		inCalls += pct / 100 * span
		if step > 0 {
			steps += span / (step * 1e6)
		}
	}
	a["calls_of_all"], a["in_calls_ns_of_all"] = calls, inCalls
	if steps > 0 {
		a["steps_of_all"] = steps
	}
	return a
}

func number(o map[string]any, name string) float64 {
	v, _ := o[name].(float64)
	return v
}

// asJSON is a report as its readers get it.
func asJSON(r *report.Report) (map[string]any, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	return m, json.Unmarshal(b, &m)
}
