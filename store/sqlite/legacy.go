package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/store"
)

// Open opens a recording of this or an earlier version (0.8 and 0.9), whichever the file holds.
// Like OpenReader it changes nothing.
func Open(path string) (store.Recording, error) {
	s, err := openSource(path)
	if err != nil {
		return nil, err
	}
	l, err := s.legacy()
	if err != nil {
		s.close()
		return nil, err
	}
	if l == nil {
		return newTables(s, nil)
	}
	s.prepare = l.normalize
	r, err := newReader(s, func(*sqlite.Conn) error { return nil })
	if err != nil {
		return nil, err
	}
	return &legacyReader{Reader: r, layout: l}, nil
}

// Distinct implements store.Distinct. Earlier versions recorded no ends of threads.
func (r *legacyReader) Distinct(context.Context) (store.Reader, error) { return r, nil }

// legacyReader reads a recording by an earlier Ingero. For data that has no table there, its
// methods return nothing.
type legacyReader struct {
	*Reader
	layout *layout

	mu   sync.Mutex // guards what follows
	rows *legacyRows
}

var _ store.LegacyReader = (*legacyReader)(nil)

// layout is the tables of a file with their columns, in lower case.
type layout map[string][]string

// legacyTable is a table of the earlier schema. A column that a version of the schema lacks has a
// default.
type legacyTable struct {
	name    string
	columns []string // name, or "name: default as SQL"; those without one are required
}

// legacyTables are the tables read. Column meanings were taken from the comments
// in the schema itself (sqlite_schema) and from its table schema_info.
var legacyTables = []legacyTable{
	{"events", []string{
		"id: ''", "timestamp", "duration", "pid", "tid", "source", "op", "gpu_id: 0", "arg0: 0", "arg1: 0", "ret_code: 0",
		"stack_hash: 0", "node: ''", "rank: null", "local_rank: null", "world_size: null", "cgroup_id: 0",
	}},
	{"schema_info", []string{"key", "value"}},
	{"causal_chains", []string{
		"id: ''", "detected_at: 0", "node: ''", "severity: ''", "summary: ''", "root_cause: ''", "explanation: ''",
		"recommendations: ''", "cuda_op: ''", "cuda_p99_us: 0", "cuda_p50_us: 0", "tail_ratio: 0", "timeline: ''",
	}},
	{"event_aggregates", []string{
		"bucket: 0", "source: 0", "op: 0", "pid: 0", "count: 0", "stored: 0", "sum_dur: 0", "min_dur: 0", "max_dur: 0",
		"sum_arg0: 0", "node: ''",
	}},
	{"sources", []string{"id: 0", "name: ''", "description: ''"}},
	{"ops", []string{"source_id: 0", "op_id: 0", "name: ''", "description: ''"}},
	{"process_names", []string{"pid: 0", "name: ''", "node: ''"}},
	{"stack_traces", []string{"hash: 0", "frames: ''"}},
	{
		"system_snapshots",
		[]string{"timestamp: 0", "cpu_pct: 0", "mem_pct: 0", "mem_avail: 0", "swap_mb: 0", "load_avg: 0"},
	},
	{"cgroup_metadata", []string{"cgroup_id: 0", "cgroup_path: ''"}},
	{"sessions", []string{
		"id: 0", "node: ''", "started_at: 0", "stopped_at: 0", "gpu_model: ''", "gpu_driver: ''", "cpu_model: ''",
		"cpu_cores: 0",
		"mem_total: 0", "kernel: ''", "os_release: ''", "cuda_ver: ''", "python_ver: ''", "ingero_ver: ''", "flags: ''",
	}},
}

// legacy returns the layout of a file by an earlier Ingero, nil for any other.
func (s *source) legacy() (*layout, error) {
	if s.ours {
		return nil, nil
	}
	c, err := s.connect()
	if err != nil {
		return nil, err
	}
	defer c.Close() // nothing was written
	id, err := pragmaInt(c, "application_id")
	if err != nil {
		return nil, s.explain(err)
	}
	if id == applicationID {
		return nil, nil
	}
	l := layout{}
	err = sqlitex.ExecuteTransient(c,
		`select lower(t.name), lower(c.name) from sqlite_schema t join pragma_table_info(t.name) c
		where t.type = 'table' order by t.name, c.cid`, &sqlitex.ExecOptions{ResultFunc: func(st *sqlite.Stmt) error {
			l[st.ColumnText(0)] = append(l[st.ColumnText(0)], st.ColumnText(1))
			return nil
		}})
	if err != nil {
		return nil, s.explain(err)
	}
	if l["events"] == nil || l["schema_info"] == nil {
		return nil, nil
	}
	if missing := l.missing(); missing != "" {
		return nil, fmt.Errorf("%s: %w this version reads: it is of Ingero 0.x, but has no %s; ingero query shows its "+
			"tables as they are", s.path, store.ErrForeign, missing)
	}
	if err := l.checkTables(c, s.path); err != nil {
		return nil, err
	}
	return &l, nil
}

// missing names a required column that the file lacks.
func (l layout) missing() string {
	for _, t := range legacyTables {
		for _, column := range t.columns {
			name, _, optional := strings.Cut(column, ": ")
			if !optional && !slices.Contains(l[t.name], name) {
				return "column " + name + " in its table " + t.name
			}
		}
	}
	return ""
}

// normalize makes temporary views earlier_TABLE that have every column.
func (l layout) normalize(c *sqlite.Conn) error {
	var b strings.Builder
	b.WriteString("pragma temp_store = memory;\n")
	for _, t := range legacyTables {
		columns := make([]string, len(t.columns))
		for i, column := range t.columns {
			name, value, _ := strings.Cut(column, ": ")
			if slices.Contains(l[t.name], name) {
				value = fmt.Sprintf("%q", name)
			}
			columns[i] = fmt.Sprintf("%s as %q", value, name)
		}
		from := fmt.Sprintf("from main.%q", t.name)
		if l[t.name] == nil {
			from = "where 0"
		}
		fmt.Fprintf(&b, "create temp view earlier_%s as select %s %s;\n", t.name, strings.Join(columns, ", "), from)
	}
	b.WriteString(legacyEventSQL)
	return execAll(c, b.String())
}

// legacyEventSQL gives events their names and start times. Records of function probes (sources 1,
// 4, 8, 9) have the time of the entry; all others were written at the end and have that time. Only
// this is consistent with the published recordings: otherwise a thread's off-CPU intervals overlap.
const legacyEventSQL = `create temp view earlier_op as
select source_id as source, op_id as op, case name when 'cudaStreamSync' then 'cudaStreamSynchronize'
  when 'cudaDeviceSync' then 'cudaDeviceSynchronize' else name end as name, description
from earlier_ops;
create temp view earlier_event as
select e.id, e.timestamp - case when e.source in (1, 4, 8, 9) then 0
else e.duration end as timestamp, e.duration, e.node, e.rank,
  e.pid, e.tid, e.source, coalesce(o.name, 'op-' || (e.source * 256 + e.op)) as op, e.gpu_id, e.arg0, e.arg1,
  e.ret_code,
  e.stack_hash, e.cgroup_id, coalesce((select name from earlier_process_names n where n.pid = e.tid
  and n.node in (e.node, '')),
  (select name from earlier_process_names n where n.pid = e.pid and n.node in (e.node, '')), '') as comm
from earlier_events e left join earlier_op o on o.source = e.source and o.op = e.op;
`
