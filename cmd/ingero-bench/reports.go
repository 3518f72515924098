package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ingero-io/ingero/bench/agent"
	"github.com/ingero-io/ingero/bench/reports"
	"github.com/ingero-io/ingero/lib/commands"
)

// reported runs the programs that were made from public bug reports.
func (c *console) reported(ctx context.Context, f *diagnosisFlags) error {
	own, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program ingero: %w", err)
	}
	o := reports.Options{
		Ingero: filepath.Join(filepath.Dir(own), "ingero"), Only: f.Only, Final: f.final, Keep: f.Keep, Fetched: c.err,
	}
	if _, err := os.Stat(o.Ingero); err != nil {
		return fmt.Errorf("%w; it must be where ingero-bench is", err)
	}
	for n := range max(f.runs, 1) {
		o.Seeds = append(o.Seeds, int(f.Seed)+n)
	}
	p := commands.NewProgress(c.err, c.env)
	o.Progress = func(done, of int, name string) { p.Show(fmt.Sprintf("%d of %d: %s", done+1, of, name)) }
	r, err := reports.Run(ctx, o)
	p.End()
	switch {
	case err != nil && len(r.Results) == 0:
		return err
	case f.asJSON:
		return errors.Join(commands.WriteJSON(c.out, r), err)
	}
	return errors.Join(c.writeReported(r), err)
}

func (c *console) writeReported(r *reports.Report) error {
	t := [][]string{{"report", "traced", "grade", "control", "slower", "MCP calls", "what was said"}}
	for i := range r.Results {
		x := &r.Results[i]
		if x.Control {
			continue
		}
		slower := strconv.FormatFloat(x.Slower, 'f', 0, 64) + " %"
		line := []string{x.Name, string(x.Way), string(x.Grade), "", slower, "-", x.Verdict}
		if x.Calls > 0 {
			line[5] = strconv.Itoa(x.Calls)
		}
		if x.Skipped != "" {
			line[2], line[4], line[6] = "-", "", "skipped: "+x.Skipped
		}
		for k := range r.Results {
			if o := &r.Results[k]; o.Control && o.Case == x.Case && o.Way == x.Way && o.Seed == x.Seed {
				line[3] = string(o.Grade)
			}
		}
		t = append(t, line)
	}
	var b strings.Builder
	writeColumns(&b, t, 6)
	b.WriteString("\n")
	if r.Final {
		b.WriteString("cases that nobody tunes on, ")
	}
	fmt.Fprintf(&b, "with the fault: %d right, %d half right, %d wrong, %d silent; controls: %d silent, %d with a "+
		"finding\n", r.Grades[reports.Right], r.Grades[reports.Half], r.Grades[reports.Wrong], r.Grades[reports.Silent],
		r.Controls[reports.Right], r.Controls[reports.Wrong])
	fmt.Fprintf(&b, "an agent that has MCP alone was told all of it in %d of %d runs, in %d calls at most\n", r.Told,
		r.Grades[reports.Right]+r.Grades[reports.Half]+r.Grades[reports.Wrong]+r.Grades[reports.Silent], agent.MaxCalls)
	if r.Windows > 0 {
		fmt.Fprintf(&b, "windows moved by three seconds: in %d of %d the first finding is of the same kind\n", r.Same,
			r.Windows)
	}
	_, err := io.WriteString(c.out, b.String())
	return err
}
