package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/export"
	"github.com/ingero-io/ingero/lib/commands"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// exportFlags are the flags of export.
type exportFlags struct {
	db     string
	format string
	out    string
	window windowFlags
}

func exportCommand(c *console) *cobra.Command {
	var f exportFlags
	var list strings.Builder
	names := []string{}
	for _, x := range export.Formats {
		fmt.Fprintf(&list, "\n  %-10s %s", x.Name, x.Doc)
		names = append(names, x.Name)
	}
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write a recording for other tools",
		Long: `Export writes a recording, or a part of it, in a format that other tools open:
` + list.String() + `

A timeline has a track for each thread, with its calls and what it waited for while
it was off the CPU, arrows from those who ended a wait, counters, and the findings
of "ingero explain" as marks. It is read row by row: large recordings need time, not
memory. The recording is never changed.`,
		Example: `  ingero export run.db                          run.pftrace, for ui.perfetto.dev
  ingero export run.db --format pprof -o slow.pb.gz && go tool pprof -top slow.pb.gz
  ingero export --since 30s --format chrome     the last half minute of the default database
  ingero export run.db --format csv -o - | head  to standard output
  ingero export run.db --format parquet         run.parquet, for pandas, Polars, DuckDB`,
		Args: commands.Arguments(0, 1, "at most one recording"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(oneRecording(&f.db, args), mutuallyExclusive(cmd, "since", "from"),
				mutuallyExclusive(cmd, "since", "to")); err != nil {
				return err
			}
			return c.export(cmd.Context(), &f)
		},
	}
	fl := cmd.Flags()
	addDatabase(cmd, &f.db)
	fl.StringVarP(&f.format, "format", "f", export.Formats[0].Name, strings.Join(names, ", "))
	fl.StringVarP(&f.out, "out", "o", "",
		`the file to write, "-" for standard output (default: the recording's name, in the current folder)`)
	f.window.addFlags(fl)
	since := fl.Lookup("since") // here a part of the recording is the exception
	since.DefValue = "all"
	f.window.Since = "all"
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (c *console) export(ctx context.Context, f *exportFlags) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	format, err := export.Find(f.format)
	if err != nil {
		return commands.UsageError{Err: err}
	}
	v, err := c.view(ctx, f.db, &f.window)
	if err != nil {
		return err
	}
	defer func() { _ = v.Close() }() // a reader has no data to lose
	if v.Note != "" {
		fmt.Fprintf(c.err, "ingero: %s\n", v.Note)
	}
	write := func(w io.Writer) error {
		if format.Table != nil {
			return c.exportTable(ctx, w, format, v)
		}
		return c.exportAs(ctx, w, format, v)
	}
	return c.writeFile(f.outFile(v.path, format), write)
}

// outFile is the output file.
func (f *exportFlags) outFile(db string, format *export.Format) string {
	if f.out != "" {
		return f.out
	}
	return strings.TrimSuffix(filepath.Base(db), ".db") + format.Suffix
}

func (c *console) exportAs(ctx context.Context, w io.Writer, format *export.Format, v *view) error {
	o := export.Options{Window: v.Window}
	if format.Findings {
		var err error
		if o.Report, err = diagnose.Explain(ctx, v.Recording, v.Window, nil); err != nil {
			return err
		}
	}
	p := commands.NewProgress(c.err, c.env)
	if c.isTerminal(c.err) {
		o.Progress = func(n uint64) { p.Show(fmt.Sprintf("%d of about %d rows", n, max(v.Sum.Stored, n))) }
		defer p.End()
	}
	return format.Write(ctx, w, v.Recording, o)
}

func (c *console) exportTable(ctx context.Context, w io.Writer, format *export.Format, v *view) error {
	query := "select * from events where " + v.Condition()
	rows, err := sqlite.Query(ctx, v.path, query, store.Limits{Rows: unlimited, Bytes: unlimited, Time: unlimited})
	if err != nil {
		return err
	}
	defer rows.Close() // a reader has no data to lose
	return format.Table(w, rows)
}

// writeFile writes a whole file or none, or to standard output.
func (c *console) writeFile(path string, write func(io.Writer) error) error {
	if path == "-" {
		if c.isTerminal(c.out) {
			return usage("standard output is a terminal; name a file with -o, or a program to read it: | head")
		}
		return write(c.out)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return usage("%s is not a file to be replaced; choose another name with -o", path)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Unwrap(err))
	}
	err = errors.Join(write(tmp), tmp.Chmod(0o644), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	fmt.Fprintf(c.err, "ingero: wrote %s\n", path)
	return nil
}
