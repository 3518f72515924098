package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ingero-io/ingero/bench/accuracy"
)

// countNumbers is how many of all compared numbers are right.
func countNumbers(r *accuracy.Report) (n accuracy.Part) {
	for _, f := range r.Numbers {
		n.Cases += f.Compared
		n.Right += f.Compared - f.Wrong
	}
	return n
}

// writeNumbers has a line for each field.
func (c *console) writeNumbers(r *accuracy.Report) error {
	t := [][]string{{"numbers against the program's own", "compared", "wrong"}}
	for _, f := range r.Numbers {
		t = append(t, []string{f.Field, strconv.Itoa(f.Compared), strconv.Itoa(f.Wrong)})
	}
	var b strings.Builder
	writeColumns(&b, t)
	b.WriteString("\n")
	_, err := io.WriteString(c.out, b.String())
	return err
}

// writeWrongNumbers lists them: they are few.
func writeWrongNumbers(b *strings.Builder, r *accuracy.Report) {
	for i := range r.Results {
		x := &r.Results[i]
		if x.Numbers == nil || x.Skipped != "" || x.Disturbed {
			continue
		}
		for _, w := range x.Numbers.Wrong {
			fmt.Fprintf(b, "\nwrong in %s: %s %s is %.10g, and should be %.10g to %.10g", x.Name, w.Field, w.Of, w.Told, w.Low,
				w.High)
		}
		for _, f := range x.Numbers.NoRule {
			fmt.Fprintf(b, "\nnot compared in %s: %s", x.Name, f)
		}
	}
}
