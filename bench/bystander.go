package bench

import (
	"context"
	"fmt"
	"runtime"

	"github.com/ingero-io/ingero/internal/cudastub"
)

// nuisance is something an untraced program does that a tracer may slow down.
type nuisance struct {
	name    string
	command string // of the victim, with the number of times
	count   string // key of the number in the answer
	times   int
	target  *Target
}

func nuisances() []nuisance {
	none := atMost(0)
	none.WithinError = true
	return []nuisance{
		{"added to a context switch", fmt.Sprintf("switches %%d cpu=%d", runtime.NumCPU()-1), "switches", 2_000, atMost(60)},
		{"added to a system call", "getppid %d", "syscalls", 10_000, none},
	}
}

// measureBystander measures a program that never loads a library of NVIDIA's,
// with and without a tracer of another process. A round is a few batches before
// the tracer starts, while it runs, and after it ended.
func measureBystander(ctx context.Context, l *lab) ([]Row, error) {
	v, err := l.files.Start(ctx, cudastub.Options{Late: true})
	if err != nil {
		return nil, err
	}
	defer v.Close() // its answers are all we want of it
	target, err := l.files.Start(ctx, cudastub.Options{})
	if err != nil {
		return nil, err
	}
	defer target.Close() // it does nothing
	kinds := nuisances()
	without, with := make([]series, len(kinds)), make([]series, len(kinds))
	rounds := pick(l, 8, 20)
	for i := range rounds {
		l.say("bystander: round %d of %d", i+1, rounds)
		if err := bystanderRound(ctx, l, v, target.PID(), kinds, without, with); err != nil {
			return nil, err
		}
	}
	var rows []Row
	for k, kind := range kinds {
		rows = append(rows, kind.row(without[k], with[k]))
	}
	return rows, nil
}

func bystanderRound(ctx context.Context, l *lab, v *cudastub.Victim, pid int, kinds []nuisance, without, with []series) error {
	n := pick(l, 15, 40)
	before, err := annoy(v, kinds, n)
	if err != nil {
		return err
	}
	t, err := l.trace(ctx, pid)
	if err != nil {
		return err
	}
	during, err := annoy(v, kinds, 2*n) // as often as without
	if err != nil {
		return err
	}
	if err := t.stop(); err != nil {
		return err
	}
	after, err := annoy(v, kinds, n)
	if err != nil {
		return err
	}
	for k := range kinds {
		without[k] = append(without[k], min(before[k], after[k]))
		with[k] = append(with[k], during[k])
	}
	return nil
}

// annoy measures each kind once: the best of n batches, in ns of CPU time.
func annoy(v *cudastub.Victim, kinds []nuisance, n int) (series, error) {
	var best series
	for _, k := range kinds {
		var s series
		for range n {
			a, err := v.Do(fmt.Sprintf(k.command, k.times))
			if err != nil {
				return nil, err
			}
			s = append(s, float64(a.Int("cpu_ns"))/float64(a.Int(k.count)))
		}
		best = append(best, s.min())
	}
	return best, nil
}

func (k *nuisance) row(without, with series) Row {
	added := with.over(without, minus)
	best, moves := estimate(func(s ...series) float64 { return s[0].min() - s[1].min() }, with, without)
	if k.target.WithinError {
		best, moves = added.median(), added.twoSE()
	}
	return Row{
		Name: k.name, Unit: Nanoseconds, Measured: best, Error: moves, Target: k.target,
		Detail: map[string]float64{
			"without_ns": without.min(), "with_ns": with.min(), "best_to_best": with.min() - without.min(), "median": added.median(), "rounds": float64(len(added)),
		},
	}.judge()
}
