package vm

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Run is the result for a kernel.
type Run struct {
	Kernel Kernel
	Result *Result // nil if there is none
	Err    error   // why there is none
	Took   time.Duration
}

// OK says that all steps of the kernel succeeded.
func (r *Run) OK() bool {
	if r.Err != nil || len(r.Result.Steps) == 0 {
		return false
	}
	for i := range r.Result.Steps {
		if !r.Result.Steps[i].OK() {
			return false
		}
	}
	return true
}

// WriteMatrix prints a line for each back end of each kernel, in Markdown that
// also reads as text.
func WriteMatrix(w io.Writer, runs []Run) error {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| kernel\t| back end\t| passed\t| failed\t| skipped\t| time\t|")
	fmt.Fprintln(t, "|---\t|---\t|---\t|---\t|---\t|---\t|")
	for i := range runs {
		runs[i].write(t)
	}
	return t.Flush()
}

func (r *Run) write(w io.Writer) {
	if r.Err != nil {
		row(w, r.Kernel.Name(), "none: the machine failed", 0, 0, 0, r.Took)
		return
	}
	sum := map[string]*Outcome{}
	var order []string
	for _, s := range r.Result.Steps {
		name := cmp.Or(s.Backend, "none, refused")
		if sum[name] == nil {
			sum[name] = &Outcome{}
			order = append(order, name)
		}
		o := sum[name]
		o.Passed += s.Passed
		o.Skipped += s.Skipped
		o.Failed = append(o.Failed, s.Failed...)
		if s.Trouble != "" {
			o.Failed = append(o.Failed, s.Trouble)
		}
		o.Took += s.Took
	}
	for _, name := range order {
		o := sum[name]
		row(w, r.Result.Release, name, o.Passed, len(o.Failed), o.Skipped, o.Took)
	}
}

func row(w io.Writer, kernel, backend string, passed, failed, skipped int, took time.Duration) {
	fmt.Fprintf(w, "| %s\t| %s\t| %d\t| %d\t| %d\t| %d s\t|\n", kernel, backend, passed, failed, skipped,
		int(took.Round(time.Second).Seconds()))
}

// WriteFailures prints what failed, and why.
func WriteFailures(w io.Writer, runs []Run) {
	for _, r := range runs {
		if r.Err != nil {
			fmt.Fprintf(w, "%s: %v\n", r.Kernel.Name(), r.Err)
			continue
		}
		for _, s := range r.Result.Steps {
			if !s.OK() {
				fmt.Fprintf(w, "%s: %s: %s\n", r.Kernel.Name(), &s.Step, s.why())
			}
		}
	}
}

func (o *Outcome) why() string {
	switch {
	case len(o.Failed) > 0:
		return strings.Join(o.Failed, ", ")
	case o.Trouble != "":
		return o.Trouble
	}
	return "no test passed"
}
