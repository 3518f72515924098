package accuracy

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
)

// Healthy runs with phases, long enough for each to have some seconds: what programs do beside their
// usual steps, and what they do with more work, or less.

const (
	phasesName = "phases"
	phaseDraws = 4 // runs of each
)

// phases are the runs. Each is drawn several times.
var phases = []control{
	{name: "evaluation now and then", args: func(d *draw) ([]string, []string) {
		return d.phase("evaluation", d.between(2, 4), d.between(1000, 2500), d.between(5000, 7000)), nil
	}},
	{name: "one evaluation", args: func(d *draw) ([]string, []string) {
		return d.phase("evaluation", d.between(7, 9), d.between(4000, 6000), 0), nil
	}},
	// A program's first steps are slow.
	{name: "warm-up", allowed: []string{event.CauseColdStart}, args: func(d *draw) ([]string, []string) {
		return d.phase("warm-up", 0, d.between(1000, 4000), 0), nil
	}},
	// A checkpoint costs time, and to report that is right; the steps between them are as fast as before.
	{name: "checkpoints", allowed: []string{event.CauseBlockIO}, args: func(d *draw) ([]string, []string) {
		return arguments("--fault own-io --start-after", d.between(2, 3), "--fault-ms", d.between(100, 400),
			"--period-ms", d.between(3000, 6000)), nil
	}},
	{name: "longer sequences", args: func(d *draw) ([]string, []string) {
		return d.phase("longer", d.between(8, 10), 0, 0), nil
	}},
	{name: "sequences of any length", args: func(d *draw) ([]string, []string) {
		return d.phase("any-length", 0, 0, 0), nil
	}},
	{name: "a pause", args: func(d *draw) ([]string, []string) {
		return d.phase("pause", d.between(5, 8), d.between(3000, 7000), 0), nil
	}},
	{name: "less to do", args: func(d *draw) ([]string, []string) {
		return d.phase("less", d.between(8, 10), 0, 0), nil
	}},
}

// phase draws a program with a phase at a second, for so many ms, once more every so many ms; 0: to the
// end, once.
func (d *draw) phase(name string, at, lasts, every int) []string {
	seconds := func(ms int) float64 { return float64(ms) / 1000 }
	return arguments("--fault none --phase", name, "--phase-at", at, "--phase-for", seconds(lasts), "--phase-every",
		seconds(every), "--host-us", d.between(200, 2000), "--sync-us", d.between(500, 4000))
}

// phaseCases draws the cases.
func phaseCases(o *Options) (list []Case) {
	long := *o
	long.Seconds = changeLength
	for i := range phases {
		for n := range phaseDraws {
			k := phases[i]
			k.name = fmt.Sprintf("%s, %d", k.name, n+1)
			c := k.draw(&long)
			c.phases = true
			list = append(list, c)
		}
	}
	return list
}
