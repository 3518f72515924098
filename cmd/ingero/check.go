package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/capture/doctor"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/lib/commands"
)

func checkCommand(c *console) *cobra.Command {
	var asJSON, covers bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "See whether this machine can be traced",
		Long: `Check tries what trace would do, without tracing anything: it loads the eBPF
programs, chooses the way to attach to functions, and looks for CUDA libraries and
processes. It exits with 0 if tracing would work and with 1 if not; each problem
comes with a remedy. Its last lines say what to do next.

With --coverage it lists every process that uses CUDA instead: its libraries, the
functions that trace attaches to, those that are missing or have to be
single-stepped, and what is not seen of the process, and why. Without root it shows
what /proc lets it see, and says how many processes it could not look at.`,
		Example: `  sudo ingero check
  sudo ingero check --json | jq .ok
  sudo ingero check --coverage
  sudo ingero check --coverage --json | jq '.processes[] | select(.traced != "yes")'`,
		Args: commands.Arguments(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			backend, err := probe.ParseBackend(c.env(probe.BackendEnv))
			if err != nil {
				return err
			}
			if covers {
				return c.coverage(doctor.Options{Backend: backend}, asJSON)
			}
			r := doctor.Examine(doctor.Options{Backend: backend, Sudo: c.underSudo(), Scope: c.scope})
			if asJSON {
				err = commands.WriteJSON(c.out, r)
			} else {
				err = c.writeCheck(r)
			}
			if err == nil && !r.OK {
				return commands.ExitCode(commands.ExitFailure)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&covers, "coverage", false, "list what is traced of each CUDA process, what is not, and why")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// marks are shown before a check, with their colours.
var marks = map[doctor.Status][2]string{
	doctor.OK:      {"ok     ", "32"},
	doctor.Info:    {"info   ", "2"},
	doctor.Warning: {"warning", "33"},
	doctor.Problem: {"PROBLEM", "1;31"},
}

func (c *console) writeCheck(r *doctor.Report) error {
	var b strings.Builder
	paint := func(code, s string) string {
		if !c.colour(c.out) {
			return s
		}
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	for _, k := range r.Checks {
		m := marks[k.Status]
		fmt.Fprintf(&b, "%s  %-13s  %s\n", paint(m[1], m[0]), k.Name, k.Detail)
		if k.Remedy != "" {
			fmt.Fprintf(&b, "%24s → %s\n", "", k.Remedy)
		}
	}
	writeLibraries(&b, r.Libraries)
	writeProcesses(&b, r.Processes)
	if r.OK {
		b.WriteString("\nTracing works here.\n")
	} else {
		b.WriteString("\nTracing does not work here yet; see each PROBLEM above. Recordings can be explained.\n")
	}
	b.WriteString(stepText(r.Next))
	_, err := io.WriteString(c.out, b.String())
	return err
}

func writeLibraries(b *strings.Builder, libs []doctor.Library) {
	if len(libs) == 0 {
		return
	}
	b.WriteString("\nLibraries:\n")
	for _, l := range libs {
		text := fmt.Sprintf("%d functions, %d not in this version", l.Attached, len(l.Missing))
		if len(l.Slow) > 0 {
			text += fmt.Sprintf(", %d on the slow path (%s)", len(l.Slow), some(l.Slow))
		}
		fmt.Fprintf(b, "  %-10s %s: %s\n", l.Probe, l.Path, cmp.Or(l.Trouble, text))
	}
}

// some lists the first few names.
func some(names []string) string {
	const few = 4
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

func writeProcesses(b *strings.Builder, ps []doctor.Process) {
	if len(ps) == 0 {
		return
	}
	b.WriteString("\nProcesses that use CUDA:\n")
	for _, p := range ps {
		var names []string
		for _, l := range p.Libraries {
			names = append(names, l[strings.LastIndexByte(l, '/')+1:])
		}
		slices.Sort(names)
		fmt.Fprintf(b, "  %7d  %-15s  %s\n", p.PID, clean(p.Comm), strings.Join(slices.Compact(names), ", "))
	}
}
