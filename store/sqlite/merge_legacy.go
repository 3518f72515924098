package sqlite

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// legacyMerge merges recordings of Ingero 0.8 and 0.9 into one of the same format: the same tables,
// with the node in each row.
type legacyMerge struct {
	*merger
	columns map[string][]string // by table, of all inputs
}

// legacyPerNode are the tables whose rows belong to one node: they get a column for it.
var legacyPerNode = []string{
	"events", "causal_chains", "sessions", "process_names", "event_aggregates", "system_snapshots",
	"cgroup_metadata", "cgroup_schedstat",
}

// legacyShared are the tables that nodes have in common. The first columns identify a row.
var legacyShared = []string{"stack_traces", "sources", "ops", "schema_info"}

// legacyKeys are the columns that are more than a value.
var legacyKeys = map[string]string{
	"events.id": "text primary key", "causal_chains.id": "text primary key",
	"sessions.id": "integer primary key", "system_snapshots.id": "integer primary key",
	"cgroup_metadata.cgroup_id": "integer primary key",
	"stack_traces.hash":         "integer primary key",
	"sources.id":                "integer primary key",
	"schema_info.key":           "text primary key",
}

// legacyIndexes are created after all rows are inserted.
const legacyIndexes = `
create index if not exists idx_events_timestamp on events (timestamp);
create index if not exists idx_events_pid on events (pid);
create index if not exists idx_events_source_op on events (source, op);
`

// legacyMaps are new numbers for those of one input, where they differ.
const legacyMaps = `
pragma temp_store = memory;
create temp table stack_map (old integer primary key, new integer);
create temp table cgroup_map (old integer primary key, new integer);
create temp table cgroup_used (id integer primary key);
`

// legacyPlace is a stack's frames without their addresses, which differ from process to process. %s
// is the table.
const legacyPlace = `case when json_valid(%[1]s.frames) then (select group_concat(case f.type when 'object' then
  coalesce(f.value ->> 's', '') || '|' || coalesce(f.value ->> 'f', '') end, ';') from json_each(%[1]s.frames) f)
  else %[1]s.frames end`

// legacyCalls counts calls in the same way as reading does: the listed ones, or the count of a
// minute if it is higher.
const legacyCalls = `select total(max(coalesce(a.n, 0), coalesce(l.n, 0))) from
  (select bucket / 60000000000 as minute, node, pid, source, op, sum(count) as n from main.event_aggregates
    where source in (1, 4, 8, 9) group by 1, 2, 3, 4, 5) a full join
  (select timestamp / 60000000000 as minute, node, pid, source, op, count(*) as n from main.events
    where source in (1, 4, 8, 9) group by 1, 2, 3, 4, 5) l using (minute, node, pid, source, op)`

// mergeLegacy writes a merged recording of inputs that all are of an earlier Ingero.
func (m *merger) mergeLegacy() error {
	if err := m.legacyNodes(); err != nil {
		return err
	}
	if err := m.create(); err != nil {
		return err
	}
	l := &legacyMerge{merger: m, columns: map[string][]string{}}
	if err := l.createTables(); err != nil {
		return wrap(m.output, err)
	}
	for _, in := range m.inputs {
		if err := l.copyLegacy(in); err != nil {
			return m.explain(in, err)
		}
		m.done += in.size
	}
	err := sqlitex.ExecuteScript(m.conn, legacyIndexes, nil)
	if err != nil {
		return wrap(m.output, err)
	}
	sessions, err := queryInt(m.conn, "select count(*) from main.sessions")
	m.result.Sessions = int(sessions)
	if err == nil {
		m.result.Calls, err = queryInt(m.conn, legacyCalls)
	}
	return wrap(m.output, err)
}

// readLegacy reads the nodes of an input.
func (in *mergeInput) readLegacy(m *merger) error {
	in.source.prepare = in.legacy.normalize
	c, err := in.source.connect()
	if err != nil {
		return err
	}
	defer c.Close() // nothing was written that could be lost
	c.SetInterrupt(m.ctx.Done())
	err = sqlitex.ExecuteTransient(c, `select node from earlier_events union select node from earlier_sessions union
		select node from earlier_causal_chains order by 1`, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		if node := s.ColumnText(0); node != "" {
			in.nodes = append(in.nodes, node)
		}
		return nil
	}})
	return m.explainNil(in, err)
}

// legacyNodes finds the node of each input. The same node in two inputs is refused: their events
// have the same ids.
func (m *merger) legacyNodes() error {
	of := map[string]*mergeInput{}
	for _, in := range m.inputs {
		switch {
		case in.force != "" && len(in.nodes) > 1:
			return fmt.Errorf("%w: %s is of several machines, so that it cannot be called %s; leave out --force-node for it",
				ErrMerge, in.path, in.force)
		case in.force != "":
			in.nodes = []string{in.force}
		case len(in.nodes) == 0:
			return fmt.Errorf("%w: %s does not say which machine it is of; name it: --force-node NAME=%s",
				ErrMerge, in.path, in.path)
		}
		for _, node := range in.nodes {
			if other := of[node]; other != nil {
				return fmt.Errorf("%w: %s and %s are both of %s; if they are the same recording, pass it once, "+
					"else name one: --force-node NAME=%s", ErrMerge, other.path, in.path, node, in.path)
			}
			of[node] = in
			m.result.Nodes = append(m.result.Nodes, node)
		}
	}
	return nil
}

// createTables creates each table with the columns that it has in any input, and those that reading
// needs.
func (l *legacyMerge) createTables() error {
	for _, t := range legacyTables {
		for _, c := range t.columns {
			name, _, _ := strings.Cut(c, ": ")
			l.columns[t.name] = append(l.columns[t.name], name)
		}
	}
	for _, t := range slices.Concat(legacyPerNode, legacyShared) {
		columns := l.columns[t]
		if slices.Contains(legacyPerNode, t) {
			columns = append(columns, "node")
		}
		for _, in := range l.inputs {
			columns = append(columns, (*in.legacy)[t]...)
		}
		for key := range legacyKeys {
			if table, column, _ := strings.Cut(key, "."); table == t {
				columns = append(columns, column)
			}
		}
		slices.Sort(columns)
		l.columns[t] = slices.Compact(columns)
		var list []string
		for _, c := range l.columns[t] {
			list = append(list, strings.TrimSpace(identifier(c)+" "+legacyKeys[t+"."+c]))
		}
		if t == "ops" {
			list = append(list, "primary key (source_id, op_id)")
		}
		if err := exec(l.conn, fmt.Sprintf("create table main.%s (%s)", t, strings.Join(list, ", "))); err != nil {
			return fmt.Errorf("create table %s: %w", t, err)
		}
	}
	return sqlitex.ExecuteScript(l.conn, legacyMaps, nil)
}

// identifier quotes a name for SQL.
func identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literal quotes a text for SQL.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// copyLegacy adds an input.
func (l *legacyMerge) copyLegacy(in *mergeInput) (err error) {
	if err := exec(l.conn, "attach ? as src", in.uri); err != nil {
		return err
	}
	defer func() {
		if e := exec(l.conn, "detach src"); err == nil {
			err = e
		}
	}()
	end := sqlitex.Transaction(l.conn)
	defer end(&err)
	c := &legacyCopy{legacyMerge: l, in: in, base: map[string]int64{}}
	for _, step := range []func() error{c.sameOperations, c.mapStacks, c.mapCgroups, c.rows, c.version} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// legacyCopy is an input being added.
type legacyCopy struct {
	*legacyMerge
	in   *mergeInput
	base map[string]int64 // what is added to ids of a table
}

func (c *legacyCopy) has(table string, columns ...string) bool {
	for _, column := range columns {
		if !slices.Contains((*c.in.legacy)[table], column) {
			return false
		}
	}
	return true
}

// sameOperations refuses an input in which an operation's number means another one.
func (c *legacyCopy) sameOperations() error {
	if !c.has("ops", "source_id", "op_id", "name") {
		return nil
	}
	return sqlitex.ExecuteTransient(c.conn, `select o.source_id, o.op_id, o.name, n.name from main.ops o
		join src.ops n on n.source_id = o.source_id and n.op_id = o.op_id where n.name <> o.name limit 1`,
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			return fmt.Errorf("%w: operation %d of source %d is %s in the recordings before and %s in %s: "+
				"they are of versions that number operations differently; explain it on its own: ingero explain %s",
				ErrMerge, s.ColumnInt64(1), s.ColumnInt64(0), s.ColumnText(2), s.ColumnText(3), c.in.path, c.in.path)
		}})
}

// mapStacks gives a new hash to stacks whose hash another node has for other functions.
func (c *legacyCopy) mapStacks() error {
	if err := exec(c.conn, "delete from temp.stack_map"); err != nil || !c.has("stack_traces", "hash", "frames") {
		return err
	}
	conflicts := fmt.Sprintf(`select n.hash from src.stack_traces n join main.stack_traces o on o.hash = n.hash
		where %s is not %s`, fmt.Sprintf(legacyPlace, "n"), fmt.Sprintf(legacyPlace, "o"))
	return c.renumber("stack_map", conflicts, `select 1 from main.stack_traces where hash = ?1
		union all select 1 from src.stack_traces where hash = ?1`)
}

// mapCgroups gives new ids to control groups whose id another node has: an id is unique only within
// its kernel.
func (c *legacyCopy) mapCgroups() error {
	if err := exec(c.conn, "delete from temp.cgroup_map"); err != nil {
		return err
	}
	var ids []string
	for _, t := range slices.Sorted(maps.Keys(*c.in.legacy)) {
		if slices.Contains(legacyPerNode, t) && c.has(t, "cgroup_id") {
			ids = append(ids, "select cgroup_id as id from src."+t+" where typeof(cgroup_id) = 'integer' and cgroup_id <> 0")
		}
	}
	if len(ids) == 0 {
		return nil
	}
	all := strings.Join(ids, " union ")
	err := c.renumber("cgroup_map", "select id from ("+all+") where id in (select id from temp.cgroup_used)",
		"select 1 from temp.cgroup_used where id = ?1 union all select 1 from ("+all+") where id = ?1")
	if err != nil {
		return err
	}
	return exec(c.conn, `insert into temp.cgroup_used
		select coalesce((select new from temp.cgroup_map where old = id), id) from (`+all+")")
}

// renumber maps numbers to ones that are not used yet.
func (c *legacyCopy) renumber(table, numbers, used string) error {
	var list []int64
	err := sqlitex.ExecuteTransient(c.conn, numbers, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		list = append(list, s.ColumnInt64(0))
		return nil
	}})
	for _, old := range list {
		number, taken := old, true
		for taken && err == nil {
			number++
			taken = false
			err = sqlitex.Execute(c.conn, used+" union all select 1 from temp."+table+" where new = ?1",
				&sqlitex.ExecOptions{Args: []any{number}, ResultFunc: func(*sqlite.Stmt) error {
					taken = true
					return nil
				}})
		}
		if err == nil {
			err = exec(c.conn, "insert into temp."+table+" values (?, ?)", old, number)
		}
	}
	return err
}

// rows copies all tables.
func (c *legacyCopy) rows() error {
	for _, t := range []string{"sessions", "system_snapshots"} {
		n, err := queryInt(c.conn, "select max(id) from main."+t)
		if err != nil {
			return err
		}
		c.base[t] = n
	}
	for _, t := range slices.Concat(legacyShared, legacyPerNode) {
		if (*c.in.legacy)[t] == nil {
			continue
		}
		c.tell(c.in)
		if err := c.ctx.Err(); err != nil {
			return err
		}
		insert := "insert"
		if slices.Contains(legacyShared, t) {
			insert = "insert or ignore"
		}
		var names, values []string
		for _, column := range c.columns[t] {
			names, values = append(names, identifier(column)), append(values, c.value(t, column))
		}
		err := exec(c.conn, fmt.Sprintf("%s into main.%s (%s) select %s from src.%s",
			insert, t, strings.Join(names, ", "), strings.Join(values, ", "), t))
		if err != nil {
			return fmt.Errorf("table %s: %w", t, err)
		}
	}
	return nil
}

// value is what a column of the merged table has of an input's row, in SQL.
func (c *legacyCopy) value(table, column string) string {
	value := identifier(column)
	if !c.has(table, column) {
		value = legacyDefault(table, column)
	}
	switch {
	case column == "node" && slices.Contains(legacyPerNode, table):
		return c.node(table)
	case column == "id" && (table == "events" || table == "causal_chains"):
		return c.eventID(table, value)
	case column == "id" && (table == "sessions" || table == "system_snapshots"):
		if !c.has(table, column) {
			return "null" // it gets the next id
		}
		return fmt.Sprintf("%s + %d", value, c.base[table])
	case table == "events" && column == "stack_hash", table == "stack_traces" && column == "hash":
		return fmt.Sprintf("coalesce((select new from temp.stack_map where old = %s), %[1]s)", value)
	case column == "cgroup_id":
		return fmt.Sprintf("coalesce((select new from temp.cgroup_map where old = %s), %[1]s)", value)
	}
	return value
}

// legacyDefault is the value of a column that an input lacks.
func legacyDefault(table, column string) string {
	for _, t := range legacyTables {
		for _, v := range t.columns {
			if name, value, _ := strings.Cut(v, ": "); t.name == table && name == column && value != "" {
				return value
			}
		}
	}
	return "null"
}

// node is the node of a row: the name given, else the one recorded, else that of the other rows if
// they are all of one node. In a recording of several nodes, a row without a node may be of any.
func (c *legacyCopy) node(table string) string {
	only := ""
	if len(c.in.nodes) == 1 {
		only = c.in.nodes[0]
	}
	if c.in.force != "" || !c.has(table, "node") {
		return literal(cmp.Or(c.in.force, only))
	}
	return fmt.Sprintf("coalesce(nullif(node, ''), %s)", literal(only))
}

// eventID is NODE:NUMBER, with the name that the node has now.
func (c *legacyCopy) eventID(table, id string) string {
	bare := id
	if c.has(table, "node") {
		bare = fmt.Sprintf(`case when node <> '' and substr(%s, 1, length(node) + 1) = node || ':'
			then substr(%[1]s, length(node) + 2) else %[1]s end`, id)
	}
	return fmt.Sprintf("%s || ':' || (%s)", c.node(table), bare)
}

// version records the versions of the inputs.
func (c *legacyCopy) version() error {
	return exec(c.conn, `update main.schema_info as o set value = o.value || ' and ' || n.value from src.schema_info n
		where o.key = 'version' and n.key = 'version' and instr(' ' || o.value || ' ', ' ' || n.value || ' ') = 0`)
}
