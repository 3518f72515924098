package accuracy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/hollow"
	"github.com/ingero-io/ingero/internal/rig"
)

// outside is a fault that is applied to a running program from outside, until ctx is done. The
// returned function adds it to the truth.
type outside func(ctx context.Context, s *surroundings) (rig.Tell, error)

// surroundings describe the running program.
type surroundings struct {
	pid    int
	dir    string // for files
	shared string // the hollow GPU's file
	gpu    string // its settings
}

// sleep waits; it is false if ctx was done first.
func sleep(ctx context.Context, seconds float64) bool {
	select {
	case <-time.After(time.Duration(seconds * 1e9)):
		return true
	case <-ctx.Done():
		return false
	}
}

// pinned returns the CPU that a flag in the run's arguments gives, or draws one and adds the flag.
func pinned(d *draw, r *realRun, flag string) int {
	for i, a := range r.args {
		if a == flag {
			cpu, _ := strconv.Atoi(r.args[i+1]) // it was written by a draw
			return cpu
		}
	}
	here, there := d.twoCPUs()
	r.args = append(r.args, arguments(flag, here)...)
	if slices.Contains(r.args, "--steps") { // PyTorch
		r.args = append(r.args, arguments("--pin-workers", there)...)
	}
	return here
}

// hogBesideLoop runs another program on the CPU of the launching thread.
func hogBesideLoop(d *draw, r *realRun) outside { return hog(d, pinned(d, r, "--pin")) }

// hogBesideAutograd runs another program on the CPU of the thread that runs the backward pass,
// which is not that of the loop's thread.
func hogBesideAutograd(d *draw, r *realRun) outside {
	here, there := d.twoCPUs()
	r.args = append(r.args, arguments("--pin", here, "--pin-workers", here, "--pin-autograd", there)...)
	return hog(d, there)
}

// hogBesideWorker runs another program on the CPU of the data worker.
func hogBesideWorker(d *draw, r *realRun) outside {
	here, there := d.twoCPUs()
	r.args = append(r.args, arguments("--pin", here, "--pin-workers", there)...)
	return hog(d, there)
}

func hog(d *draw, cpu int) outside {
	args := arguments("--seconds 60 --launches 0 --memcpy-us 0 --sync-us 0 --host-us 2000",
		"--pin", cpu, "--name", d.pick(others))
	return func(ctx context.Context, s *surroundings) (rig.Tell, error) {
		dir, err := os.MkdirTemp(s.dir, "hog-")
		if err != nil {
			return nil, err
		}
		files, err := cudastub.Extract(dir)
		if err != nil {
			return nil, err
		}
		args := append([]string{"--dir", dir}, args...)
		run, err := files.StartLoop(context.WithoutCancel(ctx), cudastub.Options{}, args...)
		if err != nil {
			return nil, err
		}
		err = run.Begin()
		<-ctx.Done()
		_ = run.Stop() // it may have ended already
		own, waitErr := run.Wait()
		return func(t *cudastub.Truth) {
			t.CulpritPID, t.CulpritTID, t.CulpritComm = own.PID, own.TID, own.Comm
		}, errors.Join(err, waitErr)
	}
}

// slower makes every kernel take longer from now on.
func slower(d *draw, _ *realRun) outside {
	factor := float64(d.between(15, 22)) / 10
	return change(fmt.Sprintf("slow=%g", factor))
}

// slowerNowAndThen makes every kernel take longer for a part of each period.
func slowerNowAndThen(d *draw, _ *realRun) outside {
	return change(fmt.Sprintf("period.every=%dms\nperiod.for=%dms\nperiod.slow=%d",
		d.between(800, 1200), d.between(250, 350), d.between(2, 3)))
}

func change(settings string) outside {
	return func(ctx context.Context, s *surroundings) (rig.Tell, error) {
		err := s.set(settings)
		<-ctx.Done()
		return nil, err
	}
}

// set adds to the settings that the GPU had at the start.
func (s *surroundings) set(settings string) error {
	return hollow.Set(s.shared, strings.ReplaceAll(s.gpu, ";", "\n")+"\n"+settings)
}

// drifting makes every kernel take longer each half second, up to twice as long.
func drifting(d *draw, _ *realRun) outside {
	each := float64(d.between(8, 12)) / 100
	return func(ctx context.Context, s *surroundings) (rig.Tell, error) {
		for factor := 1 + each; ; factor += each {
			if err := s.set(fmt.Sprintf("slow=%.2f", min(factor, 2))); err != nil {
				return nil, err
			}
			if !sleep(ctx, 0.5) {
				return nil, nil
			}
		}
	}
}

// quotaOf gives the program less of a CPU than it needs.
func quotaOf(d *draw, _ *realRun) outside {
	return limited(d, d.between(30, 50), func(s *surroundings) (int, error) { return s.pid, nil })
}

// limited gives a process a quota, in percent of a CPU.
func limited(d *draw, pct int, find func(*surroundings) (pid int, err error)) outside {
	period := 50_000 * d.between(1, 2)
	return func(ctx context.Context, s *surroundings) (rig.Tell, error) {
		pid, err := find(s)
		if err != nil {
			return nil, err
		}
		q, err := rig.NewQuota(pct*period/100, period)
		if err != nil {
			return nil, err
		}
		err = q.Move(pid)
		<-ctx.Done()
		return func(t *cudastub.Truth) { t.Cgroup = q.Path }, errors.Join(err, q.Remove())
	}
}
