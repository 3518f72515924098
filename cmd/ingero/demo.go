package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/demo"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/lib/commands"
)

// demoFlags are the flags of demo.
type demoFlags struct {
	seconds float64
	keep    string
	verbose bool
	asJSON  bool
}

func demoCommand(c *console) *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo [NAME]",
		Short: "See Ingero find a known cause, without a GPU",
		Long: `Demo runs a program with one known fault, traces it through this machine's kernel
for about ten seconds, explains what it recorded, and then shows the truth as the
program itself knows it. The program uses stand-ins for the CUDA libraries, so no
GPU is needed. Without a name it lists the demos. Where tracing is not permitted
it explains a recording made earlier, and says so first.`,
		Example: "  ingero demo\n  sudo ingero demo incident\n  sudo ingero demo lock_io --keep lock.db && ingero explain " +
			"lock.db",
		Args: commands.Arguments(0, 1, "at most one name"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var names []cobra.Completion
			for _, s := range demo.Scenarios {
				names = append(names, cobra.CompletionWithDesc(s.Name, s.Title))
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.listDemos(f.asJSON)
			}
			return c.demo(cmd.Context(), &f, cmp.Or(knownDemos[args[0]], args[0]))
		},
	}
	fl := cmd.Flags()
	fl.Float64Var(&f.seconds, "seconds", demo.DefaultLength.Seconds(), "how long the program runs")
	fl.Var(demoDuration{&f.seconds}, "duration", "")
	fl.Lookup("duration").Hidden = true
	addNoGPU(fl)
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "explain all of it: stacks, events, the slow calls, steps")
	fl.StringVar(&f.keep, "keep", "", "leave the recording in this file")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	_ = cmd.MarkFlagFilename("keep", "db") // fails only for a flag that does not exist
	return cmd
}

func (c *console) listDemos(asJSON bool) error {
	if asJSON {
		return commands.WriteJSON(c.out, demo.Scenarios)
	}
	var b strings.Builder
	for _, s := range demo.Scenarios {
		fmt.Fprintf(&b, "  %-16s %s\n", s.Name, s.Title)
	}
	b.WriteString("\nRun one: ingero demo incident (as root, to trace it live)\n")
	_, err := io.WriteString(c.out, b.String())
	return err
}

// The bounds of --seconds.
const minSeconds, maxSeconds = 3, 600

func (c *console) demo(ctx context.Context, f *demoFlags, name string) error {
	s, err := demo.Find(name)
	if err != nil {
		return commands.UsageError{Err: err}
	}
	if f.seconds < minSeconds || f.seconds > maxSeconds {
		return usage("--seconds %g is out of range; a demo runs for %d to %d seconds", f.seconds, minSeconds, maxSeconds)
	}
	backend, err := probe.ParseBackend(c.env(probe.BackendEnv))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	p := &demoBar{c: c}
	o := demo.Options{
		Length: time.Duration(f.seconds * float64(time.Second)), Keep: f.keep, Backend: backend, Version: build().Version,
		Begin: func(mode, reason string) {
			if !f.asJSON {
				c.introduce(s, mode, reason)
			}
		},
		Progress: p.show,
	}
	r, err := demo.Run(ctx, s, o)
	p.clear()
	if err = errors.Join(err, c.handOverKept(f.keep)); err != nil {
		return err
	}
	if f.asJSON {
		return commands.WriteJSON(c.out, r)
	}
	return c.writeDemo(r, f)
}

// handOverKept gives a kept recording to the user who called sudo.
func (c *console) handOverKept(path string) error {
	o, err := c.owner()
	if path == "" || err != nil {
		return nil // nothing to hand over, or no other user
	}
	f := &recordingFile{path: path, fresh: true, owner: o}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return f.handOver()
}

// introduce says first whether the following is live.
func (c *console) introduce(s *demo.Scenario, mode, reason string) {
	if mode == demo.Recorded {
		fmt.Fprintf(c.out, "Replaying a trace recorded earlier, because %s.", reason)
		if os.Geteuid() != 0 {
			fmt.Fprintf(c.out, " To see it live: sudo ingero demo %s", s.Name)
		}
		fmt.Fprint(c.out, "\n\n")
	} else {
		fmt.Fprintf(c.out, "Tracing a real program through this machine's kernel. Only the GPU is a stand-in.\n\n")
	}
	fmt.Fprintf(c.out, "%s\n\n", s.Story)
}

// demoBar shows the progress of the demo on a terminal.
type demoBar struct {
	c     *console
	shown bool
}

func (p *demoBar) show(s demo.Progress) {
	if !p.c.isTerminal(p.c.err) {
		return
	}
	p.shown = true
	const cells = 30
	done := int(cells * s.Elapsed / max(s.Length, 1))
	bar := strings.Repeat("█", done) + strings.Repeat("░", cells-done)
	fmt.Fprintf(p.c.err, "\r\x1b[K%s %.0f of %.0f s, %s traced", bar, s.Elapsed.Seconds(), s.Length.Seconds(),
		plural(s.Calls, "call"))
}

func (p *demoBar) clear() {
	if p.shown {
		fmt.Fprint(p.c.err, "\r\x1b[K")
	}
}

func (c *console) writeDemo(r *demo.Result, f *demoFlags) error {
	if err := c.writeReport(r.Report, !f.verbose); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("\nThe truth, as the traced program knows it:\n")
	for _, l := range truthLines(r) {
		fmt.Fprintf(&b, "  %s\n", l)
	}
	fmt.Fprintf(&b, "→ %s\n", judgement(r))
	if f.keep != "" {
		fmt.Fprintf(&b, "next: ingero explain --db %s --since all\n", quote(f.keep))
	}
	_, err := io.WriteString(c.out, b.String())
	return err
}

// judgement compares the explanation with the truth.
func judgement(r *demo.Result) string {
	switch {
	case r.Right && r.Scenario.Healthy():
		return "The explanation is right: there is nobody to blame."
	case r.Right:
		return "The explanation is right."
	case r.Scenario.Healthy():
		return "The program has no fault, so what is blamed above must be something else that runs on this machine. If " +
			"nothing else runs, please report it."
	case r.Rank > 1:
		return fmt.Sprintf("The explanation is right: finding %d names the true cause. The findings before it are about "+
			"something else on this machine, which cost the program more.", r.Rank)
	}
	return fmt.Sprintf("The explanation does not name the true cause, %s. Please report it.", r.Scenario.Expect)
}

// faults describes the faults that the program injected into itself.
var faults = map[string]string{
	"none":        "no fault",
	"cpu-hog":     "another process took its CPU",
	"throttle":    "its control group's CPU quota was cut",
	"lock":        "a thread computed under the mutex",
	"lock-io":     "a thread wrote to disk under the mutex",
	"own-io":      "it wrote to disk itself",
	"gpu":         "the stand-in GPU took longer",
	"driver-cpu":  "the stand-in driver computed",
	"cold":        "the first launch loaded code",
	"idle-server": "it waited for requests",
}

func truthLines(r *demo.Result) []string {
	t := &r.Truth
	fault := faults[t.Fault]
	if t.FaultCount > 0 {
		fault += fmt.Sprintf(", %s, %s in all", plural(uint64(t.FaultCount), "time"),
			report.Duration(uint64(max(t.InjectedNS, 0))))
	}
	if t.IdleNS > 0 {
		fault += " for " + report.Duration(uint64(t.IdleNS))
	}
	lines := []string{"what happened  " + fault}
	if t.CulpritComm != "" {
		lines = append(lines,
			fmt.Sprintf("who did it     %s (process %d, thread %d)", t.CulpritComm, t.CulpritPID, t.CulpritTID))
	}
	if t.HolderTID != 0 && t.HolderTID != t.CulpritTID {
		lines = append(lines, fmt.Sprintf("who held it    %s (thread %d)", t.HolderComm, t.HolderTID))
	}
	return append(lines, "calls          "+callsLine(t, r.Report))
}

// callsLine compares the program's own count of calls with the recording.
func callsLine(t *cudastub.Truth, r *report.Report) string {
	return fmt.Sprintf("%s made, %s in the recording", report.Count(uint64(max(t.Outermost(), 0))), report.Count(r.Events))
}
