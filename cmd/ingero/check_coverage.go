package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/ingero-io/ingero/capture/doctor"
	"github.com/ingero-io/ingero/capture/probe/coverage"
	"github.com/ingero-io/ingero/lib/commands"
)

// coverage prints what would be traced of each process.
func (c *console) coverage(o doctor.Options, asJSON bool) error {
	r, err := doctor.Coverage(o)
	if err != nil {
		return fmt.Errorf("%w; is /proc mounted?", err)
	}
	if asJSON {
		return commands.WriteJSON(c.out, r)
	}
	_, err = io.WriteString(c.out, coverageText(r))
	return err
}

func coverageText(r *coverage.Report) string {
	var b strings.Builder
	if len(r.Processes) == 0 {
		b.WriteString("No process uses CUDA now. Those that start will be traced.\n")
	}
	for i := range r.Processes {
		writeCovered(&b, &r.Processes[i])
	}
	if r.Backend != "" {
		fmt.Fprintf(&b, "\nBack end: %s.\n", r.Backend)
	}
	if len(r.Reasons) > 0 {
		b.WriteString("\nNot seen on this machine:\n")
		writeReasons(&b, "  ", r.Reasons)
	}
	return b.String()
}

func writeCovered(b *strings.Builder, p *coverage.Process) {
	fmt.Fprintf(b, "%d %s: traced: %s\n", p.PID, clean(p.Name), howTraced(p))
	inside := p.Copies()
	for i := range p.Libraries {
		l := &p.Libraries[i]
		if l.Embedded && !l.Timed && len(inside) > 0 {
			continue // named below
		}
		name := clean(l.Path)
		if l.Embedded {
			name = "a copy inside " + name
		}
		if l.Deleted {
			name += " (deleted or replaced since)"
		}
		fmt.Fprintf(b, "  %-8s %s\n", l.Kind, name)
		var facts []string
		for _, f := range [][2]string{{"", l.Soname}, {"version ", l.Version}, {"build id ", l.BuildID}} {
			if f[1] != "" {
				facts = append(facts, f[0]+clean(f[1]))
			}
		}
		if l.Timed {
			facts = append(facts, fmt.Sprintf("%d functions", len(l.Attached)))
		}
		if len(l.Missing) > 0 {
			facts = append(facts, fmt.Sprintf("%d missing (%s)", len(l.Missing), some(l.Missing)))
		}
		if len(l.Slow) > 0 {
			facts = append(facts, fmt.Sprintf("%d on the slow path (%s)", len(l.Slow), some(l.Slow)))
		}
		fmt.Fprintf(b, "           %s\n", cmp.Or(strings.Join(facts, ", "), "no details known"))
	}
	writeReasons(b, "  not seen: ", grouped(p.NotSeen, inside))
}

// grouped has one reason for all files with copies of the runtime, inside. NVIDIA's libraries are such
// files, so most programs have some.
func grouped(reasons []coverage.Reason, inside []string) []coverage.Reason {
	if len(inside) == 0 {
		return reasons
	}
	said := coverage.Reason{
		Code: coverage.StrippedRuntime, What: "runtime calls from inside " + strings.Join(inside, ", "),
		Why: "copies of the CUDA runtime without symbols; their launches, copies and waits are seen as driver calls",
	}
	list := []coverage.Reason{said}
	for _, r := range reasons {
		if r.Code != coverage.StrippedRuntime {
			list = append(list, r)
		}
	}
	return list
}

// howTraced describes p.Traced so that it fits the list of what is not seen: GPU work is seen, of
// some files by the driver's calls only, except for some functions.
func howTraced(p *coverage.Process) string {
	n, other := 0, false
	for _, r := range p.NotSeen {
		switch r.Code {
		case "untraced_function":
			n += 1 + strings.Count(r.What, ", ") // one entry lists all functions with the same reason
		case coverage.StrippedRuntime, "no_runtime":
		default:
			other = true
		}
	}
	inside := len(p.Copies())
	if p.Traced == coverage.No || p.Traced == coverage.Partly && (other || inside == 0) {
		return string(p.Traced)
	}
	said := "yes"
	if inside > 0 {
		said += ", " + plural(uint64(inside), "file") + " as driver calls"
	}
	if n > 0 {
		said += ", except " + plural(uint64(n), "function")
	}
	return said
}

func writeReasons(b *strings.Builder, before string, reasons []coverage.Reason) {
	for _, r := range reasons {
		fmt.Fprintf(b, "%s%s: %s [%s]\n", before, clean(r.What), clean(r.Why), r.Code)
		if r.Next != "" {
			fmt.Fprintf(b, "    → %s\n", r.Next)
		}
	}
}
