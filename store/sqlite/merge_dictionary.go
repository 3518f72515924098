package sqlite

import (
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// dictionaries adds an input's arguments, control groups and stacks, each content once, and notes
// their new ids.
func (c *mergeCopy) dictionaries() error {
	for _, step := range []func() error{c.args, c.cgroups, c.frames, c.stacks} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// runStatements runs statements. ?1 is the number that is added to a dictionary's ids.
func (c *mergeCopy) runStatements(base int64, statements ...string) error {
	for _, s := range statements {
		if err := sqlitex.Execute(c.conn, s, &sqlitex.ExecOptions{Args: []any{base}[:min(1, countParams(s))]}); err != nil {
			return err
		}
	}
	return nil
}

func countParams(s string) int {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '?' && s[i+1] == '1' {
			return 1
		}
	}
	return 0
}

func (c *mergeCopy) args() error {
	const same = "o.a0 = coalesce(x.a0, 0) and o.a1 = coalesce(x.a1, 0) and o.a2 = coalesce(x.a2, " +
		"0) and o.a3 = coalesce(x.a3, 0)"
	return c.runStatements(c.base["args"],
		"insert or ignore into temp.args_of select coalesce(a0, 0), coalesce(a1, 0), coalesce(a2, 0), coalesce(a3, 0), id "+
			"+ ?1 from src.args",
		"insert into temp.args_map select x.id, o.id from src.args x join temp.args_of o on "+same,
		"insert into main.args select m.new, x.a0, x.a1, x.a2, x.a3 from temp.args_map m join src.args x on x.id = m.old "+
			"where m.new = x.id + ?1")
}

func (c *mergeCopy) cgroups() error {
	return c.runStatements(c.base["cgroup"],
		"insert into temp.cgroup_map select x.id, coalesce((select y.id from main.cgroup y where y.path = x.path), x.id + "+
			"?1) from src.cgroup x",
		"insert into main.cgroup select m.new, x.path from temp.cgroup_map m join src.cgroup x on x.id = m.old where "+
			"m.new = x.id + ?1")
}

func (c *mergeCopy) frames() error {
	const build = "coalesce((select b.build_id from src.frame_build b where b.frame = x.id), '')"
	const columns = "x.kind, coalesce(x.addr, 0), x.symbol, x.file, coalesce(x.line, 0), " +
		"x.module, coalesce(x.offset, 0), " + build
	const same = "o.kind = x.kind and o.addr = coalesce(x.addr, 0) and o.symbol = x.symbol and o.file = x.file and " +
		"o.line = coalesce(x.line, 0) and o.module = x.module and o.offset = coalesce(x.offset, 0) and o.build_id = " + build
	return c.runStatements(c.base["frame"],
		"insert or ignore into temp.frame_of select "+columns+", x.id + ?1 from src.frame x",
		"insert into temp.frame_map select x.id, o.id from src.frame x join temp.frame_of o on "+same,
		"insert into main.frame select m.new, x.kind, x.addr, x.symbol, x.file, x.line, x.module, x.offset from "+
			"temp.frame_map m join src.frame x on x.id = m.old where m.new = x.id + ?1",
		"insert into main.frame_build select m.new, b.build_id from temp.frame_map m join src.frame_build b on b.frame = "+
			"m.old where m.new = m.old + ?1")
}

// stacks adds the stacks. Stacks with the same hash are the same, unless their frames differ:
// machines may have different code at the same addresses.
func (c *mergeCopy) stacks() error {
	err := c.runStatements(c.base["stack"],
		"insert into temp.stack_map select x.id, x.id + ?1 from src.stack x where not exists (select 1 from main.stack y "+
			"where y.hash = x.hash)")
	if err != nil {
		return err
	}
	var both []stackPair
	err = sqlitex.ExecuteTransient(c.conn,
		"select x.id, y.id, x.hash from src.stack x join main.stack y on y.hash = x.hash", &sqlitex.ExecOptions{
			ResultFunc: func(s *sqlite.Stmt) error {
				both = append(both, stackPair{s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnInt64(2)})
				return nil
			},
		})
	if err != nil {
		return err
	}
	err = c.runStatements(0,
		"insert into main.stack select m.new, x.hash, x.pid from temp.stack_map m join src.stack x on x.id = m.old")
	if err != nil {
		return err
	}
	for _, p := range both {
		if err := c.pair(p); err != nil {
			return err
		}
	}
	return c.runStatements(c.base["stack"],
		"insert into main.stack_entry select m.new, e.depth, f.new from temp.stack_map m join src.stack_entry e on "+
			"e.stack = m.old join temp.frame_map f on f.old = e.frame where m.new = m.old + ?1",
		"insert or ignore into main.stack_cut select m.new from temp.stack_map m join src.stack_cut k on k.stack = m.old "+
			"where m.new = m.old + ?1")
}

// stackPair is a stack of the input and one with its hash.
type stackPair struct{ in, there, hash int64 }

// content is a stack's frames in two forms: by address, and by name.
func (c *mergeCopy) content(db string, stack int64) (places, names string, err error) {
	err = sqlitex.Execute(c.conn,
		fmt.Sprintf(`select group_concat(kind || ' ' || coalesce(addr, 0) || ' ' || case
			when kind = 3 or coalesce(addr, 0) = 0
			then module || char(0) || file || char(0) || symbol || char(0) || coalesce(line, 0) else '' end, char(1)),
		group_concat(symbol || char(0) || module || char(0) || coalesce(offset, 0), char(1)), max(symbol) from
		(select f.* from %[1]s.stack_entry e join %[1]s.frame f on f.id = e.frame where e.stack = ?
		order by e.depth)`, db), &sqlitex.ExecOptions{
			Args: []any{stack}, ResultFunc: func(s *sqlite.Stmt) error {
				places = s.ColumnText(0)
				if s.ColumnText(2) != "" {
					names = s.ColumnText(1)
				}
				return nil
			},
		})
	return places, names, err
}

// pair makes one of two stacks with the same hash, if they are the same. The frames with names are
// kept.
func (c *mergeCopy) pair(p stackPair) error {
	places, names, err := c.content("src", p.in)
	if err != nil {
		return err
	}
	havePlaces, haveNames, err := c.content("main", p.there)
	if err != nil {
		return err
	}
	same := places == "" || havePlaces == "" || places == havePlaces &&
		(names == "" || haveNames == "" || names == haveNames)
	switch {
	case !same:
		id := p.in + c.base["stack"]
		if err := c.another(id, p); err != nil {
			return err
		}
		return exec(c.conn, "insert into temp.stack_map values (?, ?)", p.in, id)
	case haveNames == "" && names != "", havePlaces == "" && places != "":
		err = exec(c.conn, "delete from main.stack_entry where stack = ?", p.there)
		if err == nil {
			err = exec(c.conn, "insert into main.stack_entry select ?, e.depth, f.new from src.stack_entry e join "+
				"temp.frame_map f on f.old = e.frame where e.stack = ?", p.there, p.in)
		}
		if err != nil {
			return err
		}
	}
	return exec(c.conn, "insert into temp.stack_map values (?, ?)", p.in, p.there)
}

// another adds a stack under a new hash.
func (c *mergeCopy) another(id int64, p stackPair) error {
	for hash := p.hash; ; {
		hash = int64(uint64(hash)*1099511628211 + uint64(id)) // any number that is free
		taken, err := queryInt(c.conn, "select exists (select 1 from main.stack where hash = ?1) or exists (select 1 from "+
			"src.stack where hash = ?1)", hash)
		if err != nil {
			return err
		}
		if taken == 0 && hash != 0 {
			return exec(c.conn, "insert into main.stack select ?, ?, pid from src.stack where id = ?", id, hash, p.in)
		}
	}
}
