package sqlite

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/event"
)

//go:embed views.sql
var viewSQL string

// views returns the script that creates every view: the hand-written ones, and those derived from
// the event catalogue.
func views() string {
	var b strings.Builder
	b.WriteString(numbered(strings.NewReplacer("{launches}", opsThat(launchesKernel), "{reducing}", opsThat(reduces),
		"{copy}", copyOf, "{ns}", copyNS, "{rest}", restNS, "{graph_ns}", graphCopyNS("c"), "{launch_ns}", graphCopyNS("g"),
		"{repeated}", repeated, "{size}", sizeOfCopy, "{kernel}", kernelColumn,
		"{sized0}", sized(0), "{sized1}", sized(1), "{sized2}", sized(2), "{sized3}", sized(3),
		"{allocs}", opsThat(allocates), "{pinned_allocs}", opsThat(pins),
		"{pinned}", strconv.Itoa(int(event.PinnedMemory)), "{device}", strconv.Itoa(int(event.DeviceMemory)), "{graph_ops}",
		opsThat(ofGraphs), "{graph_step}", graphStep(),
		"{datatypes}", whens(event.DataTypes), "{reduce_ops}",
		whens(event.ReduceOps)).Replace(strings.Replace(viewSQL, "{kinds}", kindViews(), 1))))
	ledgerView(&b)
	threadTimesViews(&b)
	filteredViewsView(&b)
	for i := range event.Catalog {
		if s := event.Catalog[i].Op.Source(); s.Called() && !s.Marks() {
			opView(&b, &event.Catalog[i])
		} else {
			hostView(&b, &event.Catalog[i])
		}
	}
	return b.String()
}

// The parts of a view that shows a row for each call, over a row c of the table call that stands
// for c.weight calls. Row n.n is the stored call if that is 0, else one of the others: these share
// their total time evenly.
const (
	repeated = "cross join tally n on n.n < coalesce(c.weight, 1)"
	copyOf   = "case when n.n > 0 then '+' || n.n else '' end"
	restNS   = "coalesce(c.rest, c.dur * (c.weight - 1))" // else as long as the stored call
	copyNS   = "case when n.n = 0 then c.dur else " + restNS + " / (c.weight - 1) + (n.n <= " + restNS +
		" % (c.weight - 1)) end"
)

// graphCopyNS is copyNS over a row of the view stored_graph_calls.
func graphCopyNS(row string) string {
	return strings.ReplaceAll("case when n.n = 0 then r.duration_ns else r.rest_ns / (r.weight - 1) + (n.n <= "+
		"r.rest_ns % (r.weight - 1)) end", "r.", row+".")
}

// sizeOfCopy is the argument that is a size, of a call that shares a row; null of others.
const sizeOfCopy = "(select z.size / (c.weight - 1) + (n.n <= z.size % (c.weight - 1)) from rest_size z " +
	"where n.n > 0 and z.ts = c.ts)"

// sized is the n-th argument of any operation.
func sized(n int) string {
	column := fmt.Sprintf("a.a%d", n)
	ops := opsThat(func(i *event.Info) bool { return i.Op.Source().Called() && i.BytesArg() == n })
	if ops == "" {
		return fmt.Sprintf("coalesce(%s, 0)", column)
	}
	return fmt.Sprintf("case when n.n > 0 and c.op in (%s) then coalesce(%s, %s, 0) else coalesce(%[3]s, 0) end", ops,
		sizeOfCopy, column)
}

// numbered replaces an operation's name in braces by its number.
func numbered(script string) string {
	var pairs []string
	for i := range event.Catalog {
		pairs = append(pairs, "{"+event.Catalog[i].Name+"}", strconv.Itoa(int(event.Catalog[i].Op)))
	}
	return strings.NewReplacer(pairs...).Replace(script)
}

// ledgerView has a row per call or gap with off-CPU time, and one column per wait class.
func ledgerView(b *strings.Builder) {
	var total, columns strings.Builder
	for c := range event.NumClasses {
		fmt.Fprintf(&columns, "coalesce(l.%s, 0) as %[1]s_ns, ", c)
		if c > 0 {
			total.WriteString(" + ")
		}
		fmt.Fprintf(&total, "coalesce(l.%s, 0)", c)
	}
	row := func(span, id, depth, table, join string) {
		fmt.Fprintf(b,
			`select s.node || ':' || l.ts%s as id, l.ts as timestamp, '%s' as span, s.node, t.pid, t.tid, t.comm, o.name as op,
  d.dur as duration_ns, max(d.dur - (%s), 0) as on_cpu_ns, %scoalesce(l.voluntary, 0) as voluntary,
  coalesce(l.involuntary, 0) as involuntary, %s as depth
from %s left join thread t on t.id = d.thread left join session s on s.id = t.session left
join op_name o on o.id = d.%s`,
			id, span, &total, &columns, depth, table, join)
	}
	b.WriteString("\n-- Where the time of a call or of a gap between calls went.\ncreate view ledger as\n")
	row("call", "", "coalesce(d.depth, 0)", "call_ledger l join call d on d.ts = l.ts", "op")
	b.WriteString("\nunion all\n")
	row("gap", " || 'g'", "0", "gap l join gap d on d.ts = l.ts", "next")
	b.WriteString(";\n")
}

// whens are the branches of a case expression that names the numbers from 0 on.
func whens(names []string) string {
	var b strings.Builder
	for i, n := range names {
		fmt.Fprintf(&b, "when %d then '%s' ", i, n)
	}
	return b.String()
}

// opsThat lists the operations for which is holds.
func opsThat(is func(*event.Info) bool) string {
	var l []string
	for i := range event.Catalog {
		if is(&event.Catalog[i]) {
			l = append(l, strconv.Itoa(int(event.Catalog[i].Op)))
		}
	}
	return strings.Join(l, ", ")
}

// tellsSite reports whether an operation's calls record where they were made.
func tellsSite(i *event.Info) bool { return i.Op.TellsSite() }

func allocates(i *event.Info) bool { return i.Role == event.RoleAlloc }

// pins reports whether an operation page-locks memory of the host.
func pins(i *event.Info) bool { return allocates(i) && i.Space == event.PinnedMemory }

// ofGraphs reports whether an operation is about graphs or captures.
func ofGraphs(i *event.Info) bool { return i.Op.GraphStep() != "" }

// graphStep is the SQL expression for what an operation does to a graph.
func graphStep() string {
	var b strings.Builder
	b.WriteString("case c.op")
	for i := range event.Catalog {
		if o := event.Catalog[i].Op; o.GraphStep() != "" {
			fmt.Fprintf(&b, " when %d then '%s'", o, o.GraphStep())
		}
	}
	return b.String() + " end"
}

// reduces reports whether an operation has a reduction.
func reduces(i *event.Info) bool { return i.Op.Source() == event.SourceNCCL && event.Reduces(i.Op) }

// launchesKernel reports whether an operation names the kernel it launches.
func launchesKernel(i *event.Info) bool { return i.Op.LaunchesKernel() }

// hostView is the rows of one kind of kernel event that has arguments, or of one kind of mark.
func hostView(b *strings.Builder, i *event.Info) {
	from := map[event.Source]string{
		event.SourceIO: "io_requests", event.SourceTCP: "tcp_events", event.SourceNVTX: "nvtx_marks",
	}[i.Op.Source()]
	if i.Name == "oom_kill" {
		fmt.Fprintf(b, "\n-- %s\ncreate view oom_kill as select id, timestamp, node, pid, tid, comm, arg0 as trigger_pid "+
			"from life_events where op = 'oom_kill';\n", i.Doc)
	}
	if i.Op == event.OpPageAlloc {
		fmt.Fprintf(b, "\n-- %s\ncreate view mm_page_alloc as select * from page_allocations;\n", i.Doc)
	}
	if from != "" {
		fmt.Fprintf(b, "\n-- %s\ncreate view %q as select * from %s where op = '%s';\n", i.Doc, i.Name, from, i.Name)
	}
}

// opView is the calls of one operation with its arguments by name. What all these views have in
// common is in op_calls: each connection to a recording parses every view.
func opView(b *strings.Builder, i *event.Info) {
	fmt.Fprintf(b, "\n-- %s\ncreate view %q as\nselect id, timestamp, duration_ns, node, pid, tid, comm, ", i.Doc, i.Name)
	for n, a := range i.Args {
		for _, f := range a.Fields {
			fmt.Fprintf(b, "a%d >> %d & %d as %q, ", n, f.Shift, 1<<f.Bits-1, f.Name)
		}
		switch {
		case len(a.Fields) > 0:
		case n == i.BytesArg():
			fmt.Fprintf(b, "coalesce(size, a%d) as %q, ", n, a.Name)
		default:
			fmt.Fprintf(b, "a%d as %q, ", n, a.Name)
		}
	}
	if i.Op.TellsSite() {
		fmt.Fprintf(b, "printf('0x%%x', a%d) as call_site, ", event.SiteArg)
	}
	b.WriteString("gpu_id, ret_code, stack_hash, weight, depth")
	if i.Op.LaunchesKernel() {
		b.WriteString(", kernel")
	}
	fmt.Fprintf(b, ", stored\nfrom op_calls where op = %d;\n", i.Op)
}

// describe fills the dictionaries that come with the program and creates the
// views, unless the file already has exactly these.
func describe(c *sqlite.Conn) (err error) {
	script := views()
	sum := sha256.Sum256([]byte(script + vocabulary()))
	want := hex.EncodeToString(sum[:8])
	have := ""
	err = sqlitex.ExecuteTransient(c, "select value from meta where key = 'views'", &sqlitex.ExecOptions{
		ResultFunc: func(s *sqlite.Stmt) error { have = s.ColumnText(0); return nil },
	})
	if err != nil || have == want {
		return err
	}
	end, err := sqlitex.ImmediateTransaction(c)
	if err != nil {
		return err
	}
	defer end(&err)
	if err := dropViews(c); err != nil {
		return err
	}
	if err := sqlitex.ExecuteScript(c, script, nil); err != nil {
		return fmt.Errorf("create views: %w", err)
	}
	if err := fillNames(c); err != nil {
		return fmt.Errorf("write names: %w", err)
	}
	return exec(c, "insert or replace into meta values ('views', ?)", want)
}

func dropViews(c *sqlite.Conn) error {
	var names []string
	err := sqlitex.ExecuteTransient(c, "select name from sqlite_schema where type = 'view'", &sqlitex.ExecOptions{
		ResultFunc: func(s *sqlite.Stmt) error { names = append(names, s.ColumnText(0)); return nil },
	})
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := exec(c, fmt.Sprintf("drop view %q", n)); err != nil {
			return err
		}
	}
	return nil
}

// vocabulary changes when a dictionary does.
func vocabulary() string {
	return fmt.Sprint(event.Sources, event.Losses, event.NumClasses, len(event.Syscalls["amd64"]),
		len(event.Syscalls["arm64"]), opRows())
}

func opRows() (rows [][4]any) {
	for i := range event.Catalog {
		o := &event.Catalog[i]
		rows = append(rows, [4]any{int64(o.Op), int64(o.Op.Source()), o.Name, o.Doc})
	}
	return rows
}

func fillNames(c *sqlite.Conn) error {
	for _, s := range event.Sources {
		if err := exec(c, "insert or replace into source_name values (?, ?, ?)", int64(s.Source), s.Name, s.Doc); err != nil {
			return err
		}
	}
	for _, r := range opRows() {
		if err := exec(c, "insert or replace into op_name values (?, ?, ?, ?)", r[:]...); err != nil {
			return err
		}
	}
	for n := range event.NumClasses {
		if err := exec(c, "insert or replace into class_name values (?, ?)", int64(n), n.String()); err != nil {
			return err
		}
	}
	for n, l := range event.Losses {
		if err := exec(c, "insert or replace into loss_name values (?, ?, ?, ?, ?)", n, l.Name, l.Unit, l.Approximate,
			l.Doc); err != nil {
			return err
		}
	}
	for arch, names := range event.Syscalls {
		for n, name := range names {
			if err := exec(c, "insert or replace into syscall_name values (?, ?, ?)", arch, n, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// ledgerColumns are the columns of a ledger, in the order bindLedger fills and
// readLedger reads them.
var ledgerColumns = func() string {
	var names []string
	for c := range event.NumClasses {
		names = append(names, c.String())
	}
	return strings.Join(slices.Concat(names, []string{"voluntary", "involuntary"}), ", ")
}()
