package accuracy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/compare"
)

// ComparePlan are the runs to record, and the pairs of them to compare.
type ComparePlan struct {
	Runs  []CompareRun
	Pairs []Pair
}

// CompareRun is one run of the stand-in program.
type CompareRun struct {
	Name string   `json:"name"`
	Args []string `json:"args"` // of "victim loop"

	needs int // CPUs
}

// Pair is two runs to compare, A with B.
type Pair struct {
	Name string `json:"name"`
	Of   string `json:"of"` // the kind of difference, or "equal"
	// Expect are the parts of the difference that must be found, with the largest of them or one
	// like it first; empty for equal runs.
	Expect []Item `json:"expect,omitempty"`
	// Cause is the cause that must be the first one to come or to grow, and Culprit whom it names;
	// empty: any.
	Cause   string `json:"cause,omitempty"`
	Culprit string `json:"culprit,omitempty"`

	a, b int // of ComparePlan.Runs
}

// Equal reports whether nothing must be found.
func (p *Pair) Equal() bool { return len(p.Expect) == 0 }

// Item is what a part of a difference must be: see compare.Part. Empty fields: any.
type Item struct {
	What  string `json:"what,omitempty"`
	Op    string `json:"op,omitempty"`
	Class string `json:"class,omitempty"`
}

// is reports whether a part is this one.
func (e *Item) is(p *compare.Part) bool {
	return (e.What == "" || e.What == p.What) && (e.Op == "" || e.Op == p.Op) && (e.Class == "" || e.Class == p.Class)
}

// counts reports whether a part is a piece of the item's amount: the time in calls of an operation
// is measured by the program as a whole, without classes.
func (e *Item) counts(p *compare.Part) bool {
	whole := *e
	if e.Op != "" {
		whole.Class = ""
	}
	return whole.is(p)
}

// The parts that differences are about.
var (
	moreWaits     = Item{What: "calls", Op: "cudaStreamSynchronize"}
	moreLaunches  = Item{What: "calls", Op: "cudaLaunchKernel"}
	longerCopies  = Item{What: "time in calls", Op: "cudaMemcpyAsync", Class: event.OnCPU.String()}
	longerLaunch  = Item{What: "time in calls", Op: "cudaLaunchKernel", Class: event.OnCPU.String()}
	waitingForCPU = Item{Class: event.RunQueue.String()}
)

// knownDifference is a difference between two runs, and what is expected of comparing them.
type knownDifference struct {
	name   string
	expect []Item
	cause  string // empty: any
	needs  int    // CPUs
	// args draws what both runs have, and what each has.
	args func(d *draw) (both, a, b []string)
}

// knownDifferences are all of them.
var knownDifferences = []knownDifference{
	{name: "waits", expect: []Item{moreWaits}, args: func(d *draw) (both, a, b []string) {
		n := d.between(1, 3)
		return arguments("--sync-us", d.between(200, 600)), arguments("--syncs", n), arguments("--syncs", n+2)
	}},
	{name: "copies", expect: []Item{longerCopies}, args: func(d *draw) (both, a, b []string) {
		us := 10 * d.between(100, 300)
		return nil, arguments("--memcpy-us", us), arguments("--memcpy-us", us*13/10)
	}},
	{
		name: "neighbour", expect: []Item{waitingForCPU}, cause: event.CauseCPUContention,
		args: func(d *draw) (both, a, b []string) {
			hog := func(n int) []string {
				if n == 0 {
					return arguments("--fault none")
				}
				return arguments("--fault cpu-hog --start-after 0 --hogs", n)
			}
			n := d.between(0, 2)
			return arguments("--host-us", d.between(1500, 3000), "--pin", d.cpu()), hog(n), hog(n + 1)
		},
	},
	{name: "cpus", expect: []Item{waitingForCPU}, needs: 2, args: func(d *draw) (both, a, b []string) {
		both = arguments("--pin none --dispatchers 2 --host-us", d.between(2000, 4000), "--sync-us", d.between(200, 600))
		return both, arguments("--cpus 2"), arguments("--cpus 1")
	}},
	{name: "library", expect: []Item{longerLaunch}, args: func(d *draw) (both, a, b []string) {
		us := d.between(10, 20)
		return arguments("--launches", d.between(40, 60)), arguments("--launch-us", us),
			arguments("--launch-us", us*d.between(140, 160)/100)
	}},
	{name: "batch", expect: []Item{moreLaunches, longerCopies}, args: func(d *draw) (both, a, b []string) {
		n, us, times := d.between(20, 40), d.between(400, 800), d.between(15, 20)
		return arguments("--launch-us", d.between(10, 20)), arguments("--launches", n, "--memcpy-us", us),
			arguments("--launches", n*times/10, "--memcpy-us", us*times/10)
	}},
}

// equalName is the name of pairs without a difference.
const equalName = "equal"

// CompareNames lists the valid values of Options.Only for comparisons.
func CompareNames() []string {
	var names []string
	for i := range knownDifferences {
		names = append(names, knownDifferences[i].name)
	}
	return append(names, equalName)
}

// The lengths of a run to be compared, in seconds. From fewer than four whole seconds it is not known
// how much a step's duration varies.
const (
	CompareSeconds      = 8
	QuickCompareSeconds = 6
	MinCompareSeconds   = 6
)

func (o *Options) compareSeconds() float64 {
	switch {
	case o.Seconds != 0:
		return o.Seconds
	case o.Quick:
		return QuickCompareSeconds
	}
	return CompareSeconds
}

// How many pairs there are: of each known difference; of equal runs, so many programs with so many
// runs each, of which every two are a pair.
const (
	drawsOfEach, equalPrograms, equalRuns = 3, 4, 5
	quickDraws, quickPrograms, quickRuns  = 1, 1, 4
)

// PlanComparisons draws the runs and pairs.
func PlanComparisons(o *Options) (*ComparePlan, error) {
	for _, n := range o.Only {
		if !slices.Contains(CompareNames(), n) {
			return nil, fmt.Errorf("there is no difference %q; there are %s", n, strings.Join(CompareNames(), ", "))
		}
	}
	wanted := func(name string) bool { return len(o.Only) == 0 || slices.Contains(o.Only, name) }
	draws, programs, runs := drawsOfEach, equalPrograms, equalRuns
	if o.Quick {
		draws, programs, runs = quickDraws, quickPrograms, quickRuns
	}
	p := &ComparePlan{}
	for i := range knownDifferences {
		k := &knownDifferences[i]
		for n := range draws {
			if wanted(k.name) {
				p.addKnown(o, k, fmt.Sprintf("%s %d", k.name, n+1))
			}
		}
	}
	if wanted(equalName) {
		p.addEqual(o, programs, runs)
	}
	return p, nil
}

// steady draws a healthy program.
func (d *draw) steady(o *Options) []string {
	args := append(arguments("--seconds", o.compareSeconds(), "--fault none"), d.program(false)...)
	return append(args, arguments("--launches", d.between(10, 40), "--launch-us", d.between(4, 10), "--memcpy-us",
		d.between(20, 60), "--sync-us", d.between(500, 2000), "--host-us", d.between(200, 1500))...)
}

func (p *ComparePlan) addKnown(o *Options, k *knownDifference, name string) {
	d := newDraw(o.Seed, "compare "+name, o.CPUs, o.Quick)
	program := d.steady(o)
	both, a, b := k.args(d)
	n := len(p.Runs)
	for i, own := range [][]string{a, b} {
		p.Runs = append(p.Runs, CompareRun{
			Name: fmt.Sprintf("%s %c", name, 'A'+i), Args: slices.Concat(program, both, own), needs: k.needs,
		})
	}
	pair := Pair{Name: name, Of: k.name, Expect: k.expect, Cause: k.cause, a: n, b: n + 1}
	if k.cause != "" {
		pair.Culprit = program[slices.Index(program, "--culprit")+1]
	}
	p.Pairs = append(p.Pairs, pair)
}

// addEqual adds programs that run several times. Runs of one are not next to each other, as those of
// a user are not. Which one of a pair is A is drawn.
func (p *ComparePlan) addEqual(o *Options, programs, runs int) {
	begin := len(p.Runs)
	draws := make([]*draw, programs)
	args := make([][]string, programs)
	for i := range draws {
		draws[i] = newDraw(o.Seed, fmt.Sprintf("compare %s %d", equalName, i+1), o.CPUs, o.Quick)
		args[i] = draws[i].steady(o)
	}
	for run := range runs {
		for i := range programs {
			p.Runs = append(p.Runs, CompareRun{
				Name: fmt.Sprintf("%s %d run %d", equalName, i+1, run+1),
				Args: args[i],
			})
		}
	}
	for i, d := range draws {
		for x := range runs {
			for y := range x {
				a, b := begin+x*programs+i, begin+y*programs+i
				if d.rng.IntN(2) == 0 {
					a, b = b, a
				}
				p.Pairs = append(p.Pairs, Pair{Name: fmt.Sprintf("%s %d", equalName, i+1), Of: equalName, a: a, b: b})
			}
		}
	}
}
