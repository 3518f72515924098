package sqlite

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// mergeTables are the merge's own tables: the contents of the dictionaries over all inputs and, for
// the current input, new ids and the rows that are left out or moved.
const mergeTables = `
pragma temp_store = memory;
create table temp.args_of (a0, a1, a2, a3, id integer, primary key (a0, a1, a2, a3)) without rowid;
create table temp.frame_of (kind, addr, symbol, file, line, module, offset, build_id, id integer,
  primary key (kind, addr, symbol, file, line, module, offset, build_id)) without rowid;
create table temp.args_map (old integer primary key, new integer);
create table temp.frame_map (old integer primary key, new integer);
create table temp.stack_map (old integer primary key, new integer);
create table temp.cgroup_map (old integer primary key, new integer);
create table temp.covered (session integer, tid integer, thread integer, lo integer, hi integer);
create table temp.moved (tab text, old integer, new integer, primary key (tab, old)) without rowid;
create table temp.skipped (tab text, ts integer, primary key (tab, ts)) without rowid;
create table temp.second (id integer primary key, n integer);
`

// mergeRefs are the columns that refer to rows of another table, where their name does not say so.
// Other columns named thread, session, args, stack or cgroup refer to those tables.
var mergeRefs = func() map[string]string {
	refs := map[string]string{
		"process.id": "process", "owner.process": "process",
		"session.id": "session", "thread.id": "thread",
		"program.args": "", // a text
	}
	kindTables(func(t *table) {
		for column, to := range t.refs {
			refs[t.name+"."+column] = to
		}
	})
	return refs
}()

type mergeChild struct{ column, of string }

// mergeChildren are the tables whose key is that of a row of another one.
var mergeChildren = func() map[string]mergeChild {
	children := map[string]mergeChild{
		"notable": {"ts", "call"}, "call_ledger": {"ts", "call"}, "rest_size": {"ts", "call"},
	}
	kindTables(func(t *table) {
		if t.parent != "" {
			children[t.name] = mergeChild{t.key, t.parent}
		}
	})
	return children
}()

// mergeOwn are tables that are copied in other ways, or not at all: they come with the program.
var mergeOwn = []string{
	"meta", "source_name", "op_name", "class_name", "loss_name", "syscall_name",
	"tally", "args", "cgroup", "frame", "frame_build", "stack", "stack_cut", "stack_entry", "causal_chains",
}

// mergeMachine are the tables with rows about the machine and not a process; mergeUnsaid those with
// rows that may lack the session.
var mergeMachine, mergeUnsaid = func() (machine, unsaid []string) {
	kindTables(func(t *table) {
		if t.machine {
			machine = append(machine, t.name)
		}
		if t.machine || t.unsaid {
			unsaid = append(unsaid, t.name)
		}
	})
	return machine, unsaid
}()

// copy adds an input to the merged recording.
func (m *merger) copy(in *mergeInput) (err error) {
	if err := exec(m.conn, "attach ? as src", in.uri); err != nil {
		return err
	}
	defer func() {
		if e := exec(m.conn, "detach src"); err == nil {
			err = e
		}
	}()
	end := sqlitex.Transaction(m.conn)
	defer end(&err)
	c := &mergeCopy{merger: m, in: in, base: map[string]int64{}, top: map[string]int64{}}
	for _, step := range []func() error{c.prepare, c.dictionaries, c.tables, c.chains} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// mergeCopy is an input being added.
type mergeCopy struct {
	*merger
	in   *mergeInput
	base map[string]int64 // what is added to ids of a table
	top  map[string]int64 // the highest id of the input; higher ones refer to nothing
}

// prepare finds the new ids, and drops those of the last input.
func (c *mergeCopy) prepare() error {
	for _, t := range []string{
		"args_map", "frame_map", "stack_map", "cgroup_map", "covered", "moved", "skipped", "second",
	} {
		if err := exec(c.conn, "delete from temp."+t); err != nil {
			return err
		}
	}
	for _, t := range []string{"session", "thread", "process", "args", "frame", "stack", "cgroup"} {
		base, err := queryInt(c.conn, "select max(id) from main."+t)
		if err != nil {
			return err
		}
		top, err := queryInt(c.conn, "select max(id) from src."+t)
		if err != nil {
			return err
		}
		if low, err := queryInt(c.conn, "select min(id) from src."+t); err != nil || low < 0 || top > math.MaxInt64-base-2 {
			return errorOr(err, fmt.Errorf("row %d of its table %s: %w", max(top, -low), t, ErrMerge))
		}
		// An id that refers to nothing becomes base or base + top + 1, which refer to
		// nothing either.
		c.base[t], c.top[t] = base+1, top
	}
	for _, v := range c.in.covered {
		err := exec(c.conn,
			`insert into temp.covered select ?1, ?2, id, ?3, ?4 from (select id from src.thread where session = ?1
				and tid = ?2 union all select null where ?2 = 0)`,
			v.session, v.tid, v.from, v.to)
		if err != nil {
			return err
		}
	}
	return nil
}

func errorOr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// ref is the new id of a row of table t, in SQL.
func (c *mergeCopy) ref(t, column string) string {
	switch t {
	case "session", "thread", "process":
		return fmt.Sprintf("max(min(%s, %d), 0) + %d", column, c.top[t]+1, c.base[t])
	}
	return fmt.Sprintf("(select new from temp.%s_map where old = %s)", t, column)
}

// target is the table that a column refers to, empty if none.
func target(table, column string) string {
	if t, ok := mergeRefs[table+"."+column]; ok {
		return t
	}
	switch column {
	case "thread", "session", "args", "stack", "cgroup":
		return column
	}
	return ""
}

// mergeTable is a table to be copied.
type mergeTable struct {
	name    string
	columns []string
	ts      bool // its key is a time, and is moved if it is taken
}

// tables copies the tables that are not dictionaries.
func (c *mergeCopy) tables() error {
	list, err := c.list()
	if err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b mergeTable) int { // parents first
		_, x := mergeChildren[a.name]
		_, y := mergeChildren[b.name]
		switch {
		case x && !y:
			return 1
		case y && !x:
			return -1
		}
		return 0
	})
	placed := false
	for _, t := range list {
		c.tell(c.in)
		switch {
		case strings.HasSuffix(t.name, "_second") && !t.ts && slices.Contains(t.columns, "id"):
			if !placed {
				placed = true
				err = c.seconds()
			}
		case t.ts:
			err = errorOr(c.skip(&t), c.move(&t))
		}
		if err == nil {
			err = c.insert(&t)
		}
		if err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return nil
}

func (c *mergeCopy) list() (list []mergeTable, err error) {
	err = sqlitex.ExecuteTransient(c.conn,
		`select t.name, c.name, c.pk = 1 and c.type = 'INTEGER' and c.name = 'ts' and t.wr = 0 from pragma_table_list t
			join pragma_table_xinfo(t.name) c
		where t.schema = 'main' and t.type = 'table' and t.name not like 'sqlite\_%' escape '\'
		order by t.name, c.cid`, &sqlitex.ExecOptions{
			ResultFunc: func(s *sqlite.Stmt) error {
				name := s.ColumnText(0)
				if slices.Contains(mergeOwn, name) {
					return nil
				}
				if n := len(list); n == 0 || list[n-1].name != name {
					list = append(list, mergeTable{name: name})
				}
				t := &list[len(list)-1]
				t.columns = append(t.columns, s.ColumnText(1))
				_, child := mergeChildren[name]
				t.ts = t.ts || s.ColumnBool(2) && !child
				return nil
			},
		})
	return list, err
}

// skip finds the rows that another recording of the machine also has.
func (c *mergeCopy) skip(t *mergeTable) error {
	query := ""
	switch {
	case len(c.in.covered) == 0:
		return nil
	case slices.Contains(mergeMachine, t.name):
		query = "select x.ts from src.%[1]s x join temp.covered v on v.session = coalesce(x.session, (select max(id) from " +
			"src.session)) and v.tid = 0 where x.ts between v.lo and v.hi"
	case slices.Contains(t.columns, "thread") && !slices.Contains([]string{"call", "gap", "collective"}, t.name):
		query = "select x.ts from src.%[1]s x join temp.covered v on v.thread = x.thread where x.ts between v.lo and v.hi"
	default:
		return nil
	}
	err := exec(c.conn, fmt.Sprintf("insert or ignore into temp.skipped select '%[1]s', * from ("+query+")", t.name))
	c.result.Skipped += int64(c.conn.Changes())
	return err
}

// move finds new keys for rows whose key is taken: the next nanosecond that is free in both
// recordings.
func (c *mergeCopy) move(t *mergeTable) error {
	var taken []int64
	err := sqlitex.ExecuteTransient(c.conn, fmt.Sprintf(`select x.ts from src.%[1]s x join main.%[1]s y on y.ts = x.ts
		where x.ts not in (select ts from temp.skipped where tab = '%[1]s') order by x.ts`, t.name), &sqlitex.ExecOptions{
		ResultFunc: func(s *sqlite.Stmt) error { taken = append(taken, s.ColumnInt64(0)); return nil },
	})
	if err != nil || len(taken) == 0 {
		return err
	}
	free,
		err := c.conn.Prepare(fmt.Sprintf(`select not exists (select 1 from main.%[1]s where ts = ?1)
			and not exists (select 1 from src.%[1]s where ts = ?1)`, t.name))
	if err != nil {
		return err
	}
	insert, err := c.conn.Prepare("insert into temp.moved values (?, ?, ?)")
	if err != nil {
		return err
	}
	var next int64
	for _, old := range taken {
		for next = max(next, old) + 1; ; next++ {
			if next <= 0 {
				return fmt.Errorf("%w: no time is free after %d", ErrMerge, old)
			}
			free.BindInt64(1, next)
			ok, err := sqlitex.ResultBool(free)
			if err != nil {
				return err
			}
			if ok {
				break
			}
		}
		insert.BindText(1, t.name)
		insert.BindInt64(2, old)
		insert.BindInt64(3, next)
		if _, err := insert.Step(); err != nil {
			return err
		}
		if err := insert.Reset(); err != nil {
			return err
		}
	}
	c.result.Moved += int64(len(taken))
	return nil
}

// seconds finds the first free number in each second of the roll-ups.
func (c *mergeCopy) seconds() error {
	ids := func(schema, from string) string {
		var list []string
		for _, table := range rollups {
			list = append(list, "select "+from+" from "+schema+"."+table)
		}
		return "(" + strings.Join(list, " union all ") + ")"
	}
	return exec(c.conn, "insert into temp.second select id >> 20, max(id & 1048575) + 1 from "+ids("main", "id")+
		" where id >> 20 in "+ids("src", "id >> 20")+" group by 1")
}

// insert copies a table's rows.
func (c *mergeCopy) insert(t *mergeTable) error {
	child, isChild := mergeChildren[t.name]
	parent, key := t.name, "ts"
	if isChild {
		parent, key = child.of, child.column
	}
	moved, skipped, err := c.changes(parent)
	if err != nil {
		return err
	}
	values := make([]string, len(t.columns))
	for i, name := range t.columns {
		column := fmt.Sprintf("x.%q", name)
		values[i] = column
		switch {
		case name == key && (t.ts || isChild) && moved:
			values[i] = fmt.Sprintf("coalesce((select new from temp.moved where tab = '%s' and old = %s), %[2]s)", parent,
				column)
		case t.name == "session" && name == "node" && c.in.force != "":
			values[i] = "'" + strings.ReplaceAll(c.in.force, "'", "''") + "'"
		case name == "id" && slices.Contains(rollups, t.name):
			values[i] = "x.id + coalesce((select n from temp.second where id = x.id >> 20), 0)"
		case name == "session" && slices.Contains(mergeUnsaid, t.name):
			values[i] = c.ref("session", "coalesce(x.session, (select max(id) from src.session))")
		default:
			if to := target(t.name, name); to != "" {
				values[i] = c.ref(to, column)
			}
		}
	}
	where := ""
	if skipped {
		where = fmt.Sprintf(" where x.%s not in (select ts from temp.skipped where tab = '%s')", key, parent)
	}
	return exec(c.conn, fmt.Sprintf("insert into main.%[1]s select %[2]s from src.%[1]s x%[3]s", t.name,
		strings.Join(values, ", "), where))
}

// changes reports whether rows of a table are moved or left out.
func (c *mergeCopy) changes(table string) (moved, skipped bool, err error) {
	n, err := queryInt(c.conn, "select exists (select 1 from temp.moved where tab = ?1) + 2 * exists (select 1 from "+
		"temp.skipped where tab = ?1)", table)
	return n&1 != 0, n&2 != 0, err
}

// chains copies stored verdicts. Their ids may equal those of another machine's.
func (c *mergeCopy) chains() error {
	return exec(c.conn,
		`insert into main.causal_chains (id, detected_at, node, severity, summary, root_cause, explanation,
			recommendations, cuda_op, cuda_p99_us, cuda_p50_us, tail_ratio, timeline)
		select case when exists (select 1 from main.causal_chains y where y.id = x.id) then x.id || '@' || ?1 else x.id end,
		detected_at, case when ?2 <> '' then ?2
		else node end, severity, summary, root_cause, explanation, recommendations, cuda_op, cuda_p99_us, cuda_p50_us,
		tail_ratio, timeline from src.causal_chains x`,
		c.base["session"], c.in.force)
}
