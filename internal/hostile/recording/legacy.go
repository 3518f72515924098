package recording

import "strings"

// legacySchema is the tables of a recording of Ingero 0.8 that its reader needs, or reads when they are there.
const legacySchema = `create table schema_info (key text primary key, value text not null);
insert into schema_info values ('version', '0.8');
create table sources (id integer primary key, name text, description text);
create table ops (source_id integer, op_id integer, name text, description text);
insert into ops values (1, 3, 'cudaLaunchKernel', ''), (1, 5, 'cudaStreamSync', ''), (3, 1, 'sched_switch', ''),
  (3, 7, 'process_fork', '');
create table process_names (pid integer, name text, seen_at integer);
create table events (id integer primary key, timestamp integer, pid integer, tid integer, source integer, op integer,
  duration integer, gpu_id integer, arg0 integer, arg1 integer, ret_code integer, stack_hash integer, cgroup_id integer);
create table stack_traces (hash integer primary key, ips text, frames text);
create table event_aggregates (bucket integer, source integer, op integer, pid integer, count integer, stored integer,
  sum_dur integer, min_dur integer, max_dur integer, sum_arg0 integer);
create table system_snapshots (id integer primary key, timestamp integer, cpu_pct real, mem_pct real, mem_avail integer,
  swap_mb integer, load_avg real);
create table causal_chains (id text primary key, detected_at integer, severity text, summary text, root_cause text,
  explanation text, recommendations text, cuda_op text);
`

// legacyTables are those of legacySchema with their columns.
var legacyTables = map[string]string{
	"schema_info":      "key value",
	"sources":          "id name description",
	"ops":              "source_id op_id name description",
	"process_names":    "pid name seen_at",
	"events":           "id timestamp pid tid source op duration gpu_id arg0 arg1 ret_code stack_hash cgroup_id",
	"stack_traces":     "hash ips frames",
	"event_aggregates": "bucket source op pid count stored sum_dur min_dur max_dur sum_arg0",
	"system_snapshots": "id timestamp cpu_pct mem_pct mem_avail swap_mb load_avg",
	"causal_chains":    "id detected_at severity summary root_cause explanation recommendations cuda_op",
}

// legacy is an attack by a recording of Ingero 0.8.
func legacy(name, sql string) Attack {
	return Attack{name, func(path string) error { return runSQL(path, legacySchema+sql) }}
}

func legacyAttacks() []Attack {
	list := []Attack{
		legacy("0.8: a million calls", many(1_000_000)+
			"insert into events select n, n * 1000, 1, n % 1000, 1, 3, 1000, 0, 0, 0, 0, 0, 0 from r"),
		legacy("0.8: a million threads", many(700_000)+
			"insert into events select n, n * 1000, n, n, 1, 3, 1000, 0, 0, 0, 0, 0, 0 from r"),
		legacy("0.8: names for everybody", many(60_000)+"insert into process_names select n, hex(n), 0 from r; "+
			many(60_000)+"insert into events select n, n * 1000, n, n, 3, 7, 0, 0, 0, n, 0, 0, 0 from r"),
		legacy("0.8: operations that nobody knows", many(300_000)+"insert into ops select 1, n, hex(n), '' from r; "+
			many(300_000)+"insert into events select n, n * 1000, 1, 1, 1, n, 1, 0, 0, 0, 0, 0, 0 from r"),
		legacy("0.8: times at the end of time", many(1000)+"insert into events select n, "+last+
			" - n, 1, 1, 1, 3, "+last+", 0, 0, 0, 0, 0, 0 from r; insert into events values (2000, "+low+
			", 1, 1, 3, 1, "+last+", 0, 0, 0, 0, 0, 0)"),
		legacy("0.8: counts that overflow", many(1000)+"insert into event_aggregates select n * 60000000000, 1, 3, n, "+
			last+", 0, "+last+", 0, "+last+", "+last+" from r; insert into events values (1, 1000, 1, 1, 1, 3, 1, 0, 0, 0, 0, 0, 0)"),
		legacy("0.8: a stack that is deep", "insert into stack_traces values (7, '', replace(hex(zeroblob(5000000)), '0', "+
			"'[')); insert into events values (1, 1000, 1, 1, 1, 3, 90000000000, 0, 0, 0, 0, 7, 0)"),
		legacy("0.8: a stack of a million frames", many(300_000)+`insert into stack_traces select 7, '',
			json_group_array(json_object('s', 'f', 'f', 'x.py')) from r;
			insert into events values (1, 1000, 1, 1, 1, 3, 90000000000, 0, 0, 0, 0, 7, 0)`),
		legacy("0.8: a chain of megabytes", many(100)+`insert into causal_chains select 'c' || n, 1000, 'HIGH',
			hex(zeroblob(500000)), 'r', 'e', replace(hex(zeroblob(500000)), '0', '['), 'x' from r;
			insert into events values (1, 1000, 1, 1, 1, 3, 90000000000, 0, 0, 0, 0, 7, 0)`),
	}
	for name, names := range legacyTables {
		list = append(list, legacy("0.8: "+name+" is an endless view", "drop table "+name+"; create view "+name+
			" as "+endless(strings.Fields(names), "n")))
	}
	return list
}
