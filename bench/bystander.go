package bench

import (
	"context"
	"fmt"
	"runtime"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// nuisance is something that an untraced program does and that a tracer may slow down.
type nuisance struct {
	name    string
	command string // of the victim, with the number of times
	count   string // key of the number of times in the answer
	times   int
	target  *Target
	floor   bool // also measured with BPF programs that do nothing
}

func nuisances() []nuisance {
	none := atMost(0)
	none.WithinError = true
	return []nuisance{
		{
			"added to a context switch", fmt.Sprintf("switches %%d cpu=%d", runtime.NumCPU()-1), "switches", 2_000, atMost(60),
			true,
		},
		{"added to a system call", "getppid %d", "syscalls", 10_000, none, false},
	}
}

// measureBystander measures a program that never loads an NVIDIA library, with and without the BPF
// programs of a tracer of another process, in many short rounds. The tracer's user-space process
// does not run: it would only add noise.
func measureBystander(ctx context.Context, l *lab) ([]Row, error) {
	v, err := l.files.Start(ctx, cudastub.Options{Late: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Close() }() // only its answers matter
	target, err := l.files.Start(ctx, cudastub.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = target.Close() }() // it does nothing
	kinds := nuisances()
	without, with, empty := make([]series, len(kinds)), make([]series, len(kinds)), make([]series, len(kinds))
	rounds := pick(l, 25, 100)
	for i := range rounds {
		l.say("bystander: round %d of %d", i+1, rounds)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		calm, err := annoy(v, kinds)
		if err != nil {
			return nil, err
		}
		disturbed, err := annoyTraced(l, v, target.PID(), kinds, probe.Options{})
		if err != nil {
			return nil, err
		}
		floor, err := annoyTraced(l, v, target.PID(), kinds, probe.Options{Empty: true})
		if err != nil {
			return nil, err
		}
		for k := range kinds {
			without[k], with[k], empty[k] = append(without[k], calm[k]), append(with[k], disturbed[k]),
				append(empty[k], floor[k])
		}
	}
	var rows []Row
	for k, kind := range kinds {
		rows = append(rows, bystanderRow(kind.name, kind.target, without[k], with[k]))
		if kind.floor {
			rows = append(rows, bystanderRow(kind.name+", programs that do nothing", nil, without[k], empty[k]))
		}
	}
	return rows, nil
}

// annoyTraced measures each kind while all BPF programs of a tracer are in the kernel.
func annoyTraced(l *lab, v *cudastub.Victim, pid int, kinds []nuisance, o probe.Options) (series, error) {
	t, err := probe.Open(o)
	if err != nil {
		return nil, err
	}
	defer func() { _ = t.Close() }() // nothing can be done if detaching fails
	w, err := probe.NewMapWatcher()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if err := attachStubs(l, t, pid); err != nil {
		return nil, err
	}
	return annoy(v, kinds)
}

// annoy measures each kind once, in ns of CPU time.
func annoy(v *cudastub.Victim, kinds []nuisance) (series, error) {
	var figures series
	for _, k := range kinds {
		var s series
		for range batches {
			a, err := v.Do(fmt.Sprintf(k.command, k.times))
			if err != nil {
				return nil, err
			}
			s = append(s, float64(a.Int("cpu_ns"))/float64(a.Int(k.count)))
		}
		figures = append(figures, s.quantile(quiet))
	}
	return figures, nil
}

func bystanderRow(name string, target *Target, without, with series) Row {
	added := with.over(without, minus)
	return Row{
		Name: name, Unit: Nanoseconds, Measured: added.median(), Error: added.twoSE(), Target: target,
		Detail: map[string]float64{
			"without_ns": without.median(), "with_ns": with.median(),
			"best_to_best": with.min() - without.min(), "rounds": float64(len(added)),
		},
	}.judge()
}
