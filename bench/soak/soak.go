// Package soak leaves the tracer running beside everything that happens on a machine: programs that start, crash and
// load libraries, containers, disks that become full, kill -9. It judges whether the tracer stays as it was (slopes),
// whether the recording has what it should have, and whether anything was harmed. DESIGN.md has the bounds.
//
// slope.go, judge.go, lost.go and findings.go are the judge: they have no clock and no I/O. A kind of churn is a file
// and a line in churners.
package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"
)

// Options say what to run.
type Options struct {
	Ingero string        // the program
	Dir    string        // an empty folder; what is mounted there must be in a mount namespace of its own
	Length time.Duration // of the churn
	Log    io.Writer     // what is being done
	Keep   string        // a folder for recordings with a wrong finding, and what explain printed; "": none is kept
}

// warmUp is how long the tracer may grow: caches fill, and the heap finds its size.
func warmUp(length time.Duration) time.Duration {
	return min(max(length/5, time.Minute), 5*time.Minute)
}

// Run needs root. An error means that the soak could not be done; what was found is in the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	w, err := newWorld(o.Dir, o.Length)
	if err != nil {
		return nil, err
	}
	watched, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWatching()
	w.keep = o.Keep
	if w.told, err = watchLives(watched); err != nil {
		return nil, err
	}
	if w.steady, err = startSteady(ctx, o.Dir, w.files); err != nil {
		return nil, err
	}
	w.tracer = &tracer{
		ingero: o.Ingero, dir: o.Dir, recording: filepath.Join(w.disk, "soak.db"), excuse: w.excuse,
		ended: func(why string) { w.tracerEnded(ctx, why) },
	}
	begin := time.Now()
	if err := w.tracer.start(ctx); err != nil {
		return nil, errors.Join(err, w.steady.stop())
	}
	w.excuse(begin.Add(-grace), time.Now().Add(grace/2), "the tracer was started")
	return w.soak(ctx, o)
}

// soak is everything from the start of the tracer to its end.
func (w *world) soak(ctx context.Context, o Options) (*Report, error) {
	const quiet = 5 * time.Second
	wait(ctx, quiet)
	start, err := w.read()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read how the tracer is: %w", err), w.close())
	}
	space, err := used(w.churn)
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	fmt.Fprintf(o.Log, "the tracer has attached; %s of churn begin\n", o.Length)
	samples := w.churnAndSample(ctx, o)
	if ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), w.close())
	}
	fmt.Fprintln(o.Log, "the churn has ended; waiting until the tracer is as it was")
	end, err := w.settle(ctx, start, space)
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w.report(o, start, end, samples)
}

// close ends what was started, in a run that is given up.
func (w *world) close() error {
	_, err := w.tracer.stop()
	return errors.Join(err, w.steady.stop())
}

// read is how the tracer is now.
func (w *world) read() (sample, error) {
	pid, life, ok := w.tracer.running()
	if !ok {
		return sample{}, errors.New("the tracer does not run")
	}
	s, err := readSample(pid, w.tracer.recording)
	s.life = life
	return s, err
}

// churnAndSample reads the tracer each two seconds while everything happens.
func (w *world) churnAndSample(ctx context.Context, o Options) (samples []sample) {
	const each = 2 * time.Second
	churned, stop := context.WithTimeout(ctx, o.Length)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		churn(churned, w, o.Length)
	}()
	begin := time.Now()
	told, said := 0, 0
	for churned.Err() == nil {
		if s, err := w.read(); err == nil { // else it is away; that is judged elsewhere
			s.minutes = s.at.Sub(begin).Minutes()
			if len(samples) > 0 {
				s.follow(&samples[len(samples)-1])
			}
			samples = append(samples, s)
			if int(s.minutes) > told {
				told = int(s.minutes)
				w.mu.Lock()
				fmt.Fprintf(o.Log, "%d min: %d links, %d descriptors, RSS %d MiB, recording %d MiB, %d findings, %d wrong\n",
					told, s.links, s.descriptors, s.rss>>20, s.file>>20, w.findings, len(w.wrong))
				for _, x := range w.wrong[said:] {
					fmt.Fprintln(o.Log, "  wrong:", x)
				}
				said = len(w.wrong)
				w.mu.Unlock()
			}
		}
		wait(churned, each)
	}
	<-done
	return samples
}

// ending is how the tracer and the churn's file system are when all has gone.
type ending struct {
	sample
	more   []string // what there are more descriptors of than before
	may    int      // how many of these may be there
	space  int64    // bytes that are held though nothing is there any more
	took   time.Duration
	exited time.Duration // how long it took to end
	err    error         // of its end
}

// settle waits until the tracer is as it was, or patience ends: it looks for what is gone every few seconds.
func (w *world) settle(ctx context.Context, start sample, space int64) (e ending, err error) {
	const patience = time.Minute
	begin := time.Now()
	for {
		s, readErr := w.read()
		now, err := used(w.churn)
		if err != nil {
			return e, err
		}
		if readErr == nil {
			e.sample, e.space, e.took = s, max(0, now-space), time.Since(begin)
			e.more, e.may = more(s.open, start.open, w.tracer.recording, mappedByAny)
		}
		same := readErr == nil && s.links <= start.links && s.descriptors <= start.descriptors+e.may && e.space == 0 &&
			s.programs <= start.programs && s.maps <= start.maps
		if same || time.Since(begin) > patience || ctx.Err() != nil {
			return e, ctx.Err() // a tracer that is not there has a row of its own
		}
		wait(ctx, time.Second)
	}
}
