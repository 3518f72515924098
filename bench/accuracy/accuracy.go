// Package accuracy measures how often explanations are right. It runs the stand-in program with
// faults of known causes and with nothing wrong, traces it through the real kernel, explains the
// recording, and compares the explanation with what the program measured itself. Names, pinning,
// durations and duty cycles are drawn from a seed, so that a score does not depend on fixed
// numbers.
//
// A fault is a line in faults, a run that only looks like one is a line in controls. Drawing and
// scoring are pure. What is measured and what each figure means: docs/accuracy.md.
package accuracy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/capture/probe"
)

// Options say what to run.
type Options struct {
	Seed     uint64
	Only     []string // faults, or "controls"; empty: everything
	Quick    bool     // one magnitude of each fault, and shorter runs
	Seconds  float64  // of each run; 0: DefaultSeconds, or QuickSeconds
	Baseline bool     // score the co-occurrence rule too
	Keep     string   // folder to leave the recordings in; empty: nowhere
	CPUs     []int    // that runs may be pinned to; at least one

	Backend  probe.Backend
	Version  string                       // of Ingero, for the recordings
	Progress func(done, of int, c string) // called before each case; may be nil
}

// The lengths of a run, in seconds.
const (
	DefaultSeconds = 6
	QuickSeconds   = 4
	MinSeconds     = 3 // a shorter run has too few faults after the healthy time
	MaxSeconds     = 600
)

func (o *Options) seconds() float64 {
	switch {
	case o.Seconds != 0:
		return o.Seconds
	case o.Quick:
		return QuickSeconds
	}
	return DefaultSeconds
}

// Names lists the valid values of Options.Only.
func Names() []string {
	var names []string
	for _, f := range faults {
		names = append(names, f.Fault)
	}
	return append(names, controlsName, pairsName, changesName, phasesName)
}

// Groups that may be selected besides faults.
const (
	controlsName = "controls"
	pairsName    = "pairs"
)

// Cases draws the cases to run: every fault in each magnitude, some faults in pairs, and the
// controls.
func Cases(o *Options) ([]Case, error) {
	for _, n := range o.Only {
		if !slices.Contains(Names(), n) {
			return nil, fmt.Errorf("there is no fault %q; there are %s", n, strings.Join(Names(), ", "))
		}
	}
	if len(o.CPUs) == 0 {
		return nil, errors.New("draw cases: there is no CPU to pin them to")
	}
	wanted := func(name string) bool { return len(o.Only) == 0 || slices.Contains(o.Only, name) }
	var cases []Case
	sampled := map[string]bool{} // kinds of causes
	for i := range faults {
		f := &faults[i]
		if !wanted(f.Fault) {
			continue
		}
		for _, m := range o.magnitudes(f.Fault) {
			c := f.draw(o, m)
			c.whatIf = !f.cold && !f.lasts && !sampled[f.Kinds[0]] && (m == Medium || o.Quick)
			sampled[f.Kinds[0]] = sampled[f.Kinds[0]] || c.whatIf
			cases = append(cases, c)
		}
	}
	if wanted(pairsName) {
		for _, p := range pairs {
			cases = append(cases, findFault(p[0]).draw(o, Medium, p[1]))
		}
	}
	if wanted(changesName) && (!o.Quick || slices.Contains(o.Only, changesName)) { // they are long
		cases = append(cases, changeCases(o)...)
	}
	if wanted(phasesName) && (!o.Quick || slices.Contains(o.Only, phasesName)) { // the same
		cases = append(cases, phaseCases(o)...)
	}
	if wanted(controlsName) {
		for i := range controls {
			cases = append(cases, controls[i].draw(o))
		}
	}
	return cases, nil
}

// magnitudes are all magnitudes, or one that is drawn.
func (o *Options) magnitudes(fault string) []Magnitude {
	if !o.Quick {
		return Magnitudes
	}
	d := newDraw(o.Seed, fault, o.CPUs, o.Quick)
	return Magnitudes[d.rng.IntN(len(Magnitudes)):][:1]
}
