package mcptool

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/capture/symbol/gpukernel"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/serve/mcpshape"
)

// Names that a traced process chooses, for itself, its files and its functions, are read
// by a model. Three rules keep them data. Each answer's metadata names the fields that
// may hold such text, and the server's instructions say what that means. Invisible
// characters, and those that change the direction of text, are replaced. Names that
// could be read as a sentence are put in quotation marks that they cannot close.

// The lengths, in characters, after which text is cut.
const (
	maxName  = 120
	maxProse = 400
)

// prose cleans text that may quote names.
func prose(s string) data { return data(mcpshape.Cut(mcpshape.Visible(s), maxProse)) }

// name cleans a name, and quotes it if it has spaces.
func name(s string) data { return data(mcpshape.Quoted(mcpshape.Cut(mcpshape.Visible(s), maxName))) }

// frame cleans a line of a stack. It has spaces by its form, so it is not quoted.
// Recordings by earlier versions have mangled names.
func frame(s string) data {
	if symbol, rest, _ := strings.Cut(s, " "); strings.HasPrefix(symbol, "_Z") {
		s = strings.TrimSpace(gpukernel.Readable(symbol) + " " + rest)
	}
	return data(mcpshape.Cut(mcpshape.Visible(s), maxName))
}

// quoteNames puts the names of a report that have spaces into quotation marks
// wherever its sentences use them. It changes the report.
func quoteNames(r *report.Report) {
	var names []string
	add := func(list ...string) {
		for _, n := range list {
			if mcpshape.Quoted(n) != n {
				names = append(names, n)
			}
		}
	}
	for i := range r.Chains {
		c := &r.Chains[i]
		add(c.Effect.Process, c.Effect.Thread, c.Cause.Process, c.Cause.Thread, c.Effect.Kernel)
		for _, s := range c.Path {
			add(s.Process, s.Thread)
		}
	}
	for _, n := range r.NotExplained {
		add(n.Effect.Process, n.Effect.Thread)
	}
	for _, f := range r.InFlight {
		add(f.Process, f.Thread, f.Holder)
	}
	if len(names) == 0 {
		return
	}
	// a name may be part of a longer one
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, n := range slices.Compact(names) {
		pairs = append(pairs, n, mcpshape.Quoted(n))
	}
	quote := strings.NewReplacer(pairs...)
	fix := func(list ...*string) {
		for _, s := range list {
			*s = quote.Replace(*s)
		}
	}
	fix(&r.Verdict)
	for i := range r.Chains {
		c := &r.Chains[i]
		fix(&c.Summary, &c.Cause.Detail)
		for j := range c.Recommendations {
			fix(&c.Recommendations[j])
		}
		for j := range c.Path {
			fix(&c.Path[j].On)
		}
	}
	for i := range r.NotExplained {
		fix(&r.NotExplained[i].Why)
	}
	for i := range r.InFlight {
		fix(&r.InFlight[i].WaitsFor)
	}
}
