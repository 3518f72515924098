package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/lib/commands"
	"github.com/ingero-io/ingero/serve/nodes"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// queryFlags are the flags of query.
type queryFlags struct {
	db     string
	format string
	limit  int
	fleet  nodeFlags
}

// defaultRows is the default number of rows that query prints.
const defaultRows = 1000

func queryCommand(c *console) *cobra.Command {
	var f queryFlags
	cmd := &cobra.Command{
		Use:   "query [FILE] SQL",
		Short: "Query a recording with SQL",
		Long: `Query runs one SQL statement on a recording, also one of Ingero 0.8 or 0.9, and
prints the rows. It only reads: the file is never changed. Answers are bounded in
rows, size and time.

With --nodes it queries the recordings of many machines at once, where "ingero dashboard"
serves them, as if they were one: groups of all nodes are combined (count, sum, total,
avg, min, max), and order by and limit apply to the combined rows. Each row has a column
node; group by node for results per node. If a statement cannot be combined, each node
answers it separately, and a warning says why. If some nodes do not answer, the others'
rows are printed, and the exit code is 3.

Start with these views; docs/sql.md describes all of them:
  events         every call and host event: timestamp, duration_ns, pid, tid, source, op
  cuda_events    calls of the CUDA runtime and driver
  host_events    what the host did to threads, by system call
  off_cpu        intervals of 0.1 ms or more off the CPU: class, waker, lock holder, who ran
  off_cpu_times  all time off the CPU by thread and class, exact
  ledger         where the time of each call went
  op_seconds     exact statistics per second, thread and operation
  process_names, sources, ops, sessions, losses`,
		Example: `  ingero query "select op, count(*), max(duration_ns) from cuda_events group by op"
  ingero query run.db "select * from off_cpu order by duration_ns desc limit 5"
  ingero query run.db --format csv --limit 0 "select * from events" > events.csv
  ingero query run.db --format json - < question.sql
  ingero query --nodes gpu-01:8080,gpu-02:8080 "select node, op, count(*) from cuda_events group by node, op"`,
		Args: commands.Arguments(1, 2, "a recording and an SQL statement, or just the statement"),
		RunE: func(cmd *cobra.Command, args []string) error {
			sql := args[len(args)-1]
			if err := oneRecording(&f.db, args[:len(args)-1]); err != nil {
				return err
			}
			fl, err := c.nodesClient(&f.fleet, cmd, f.db)
			if err != nil {
				return err
			}
			return c.query(cmd.Context(), &f, fl, sql)
		},
	}
	fl := cmd.Flags()
	addDatabase(cmd, &f.db)
	fl.StringVar(&f.format, "format", "table", "how to print the rows: table, json or csv")
	f.fleet.addFlags(cmd)
	fl.IntVar(&f.limit, "limit", defaultRows, "print at most this many rows; 0 for no limit")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (c *console) query(ctx context.Context, f *queryFlags, fl *nodes.Client, sql string) error {
	write, err := rowWriterFor(f.format)
	if err != nil {
		return err
	}
	if f.limit < 0 {
		return usage("--limit %d is negative; 0 means no limit", f.limit)
	}
	if sql, err = c.statement(f, sql); err != nil {
		return err
	}
	if fl != nil {
		return c.queryNodes(ctx, fl, f, sql, write)
	}
	path, err := c.toRead(f.db)
	if err != nil {
		return err
	}
	limits := store.Limits{Rows: f.limit}
	if f.limit == 0 {
		limits.Rows, limits.Bytes = unlimited, unlimited
	}
	rows, err := sqlite.Query(ctx, path, sql, limits)
	if err != nil {
		return err
	}
	defer rows.Close() // a reader has no data to lose
	if err := write(c, rows); err != nil {
		return err
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, n := range rows.Notes() {
		fmt.Fprintf(c.err, "ingero: note: %s\n", n.Text)
	}
	if rows.Truncated() {
		fmt.Fprintf(c.err, "ingero: there is more: stopped after %d rows; --limit 0 prints all\n", f.limit)
	}
	return nil
}

// unlimited is more rows, or bytes, than a file can hold.
const unlimited = 1 << 50

// maxStatement bounds a statement read from standard input, in bytes.
const maxStatement = 1 << 20

// statement returns the SQL to run: the argument, or standard input for "-".
func (c *console) statement(f *queryFlags, sql string) (string, error) {
	if sql == "-" {
		b := make([]byte, maxStatement)
		n, err := readFull(c.in, b)
		if err != nil {
			return "", fmt.Errorf("read the statement from standard input: %w", err)
		}
		sql = string(b[:n])
	}
	if strings.TrimSpace(sql) == "" {
		return "", usage("there is no SQL statement; see ingero query --help")
	}
	if info, err := os.Stat(sql); err == nil && info.Mode().IsRegular() && f.db == "" {
		return "", usage(`%s is a file, not SQL; add a statement: ingero query %[1]s "select * from events limit 10"`, sql)
	}
	return sql, nil
}

var errTooLong = errors.New("it is longer than 1 MiB")
