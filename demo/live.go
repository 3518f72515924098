package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// live traces the scenario's program on this machine.
func live(ctx context.Context, s *Scenario, o *Options, dir string) (*Result, error) {
	files, err := cudastub.Extract(dir)
	if err != nil {
		return nil, fmt.Errorf("unpack the demo's program: %w", err)
	}
	seconds := strconv.FormatFloat(o.Length.Seconds(), 'f', -1, 64)
	args := slices.Concat([]string{"--seconds", seconds, "--dir", dir}, s.args, o.Args)
	loop, err := files.StartLoop(ctx, cudastub.Options{}, args...)
	if err != nil {
		return nil, fmt.Errorf("start the demo's program (is %s mounted noexec? set TMPDIR to another folder): %w", dir, err)
	}
	path := o.Keep
	if path == "" {
		path = filepath.Join(dir, "demo.db")
	}
	truth, err := trace(ctx, loop, o, path)
	if err != nil {
		return nil, err
	}
	r, err := explain(ctx, s, o, path, truth)
	if err != nil {
		return nil, err
	}
	r.Mode = Live
	return r, nil
}

// trace runs the program under the tracer and returns what it says of itself.
func trace(ctx context.Context, loop *cudastub.LoopRun, o *Options, path string) (cudastub.Truth, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	attached, ended := make(chan struct{}), make(chan struct{})
	var truth cudastub.Truth
	var truthErr error
	go func() {
		defer close(ended)
		defer stop() // the recording ends with the program
		select {
		case <-attached:
		case <-ctx.Done():
			_ = loop.Stop() // it may have ended already
		}
		truth, truthErr = loop.Wait()
	}()
	sum, err := agent.Run(ctx, agent.Options{
		PIDs: []int{loop.PID()}, UID: agent.AnyUser, Backend: o.Backend,
		Record: &agent.Recording{Path: path, Node: "demo", Version: o.Version, Flags: "demo", Open: func(ses store.Session) (store.Writer, error) {
			if o.Session != nil {
				o.Session(&ses)
			}
			return sqlite.OpenWriter(path, sqlite.Options{Session: ses, RawRate: o.RawRate})
		}},
		Started: func(agent.Start) {
			o.Begin(Live, "")
			close(attached)
		},
		Sinks: []agent.Sink{progress{o}},
	})
	if err != nil {
		_ = loop.Stop() // likewise
	}
	stop()
	<-ended
	switch {
	case err != nil:
		return truth, err
	case truthErr != nil:
		return truth, fmt.Errorf("run the demo's program: %w", truthErr)
	case sum.Calls == 0:
		return truth, errors.New("the demo's program was traced, but none of its calls was seen; please report this with the output of ingero check --json")
	}
	return truth, nil
}

// progress hands the state of a run on.
type progress struct{ o *Options }

// Batch implements agent.Sink.
func (p progress) Batch(*store.Batch) {}

// Second implements agent.Sink.
func (p progress) Second(s *agent.Status) {
	if p.o.Progress != nil {
		p.o.Progress(Progress{Elapsed: min(s.Elapsed, p.o.Length), Length: p.o.Length, Calls: s.Calls})
	}
}

// workFolder makes a folder for the program and what it writes: on a disk, if
// one is found, because faults that wait for a disk need one.
func workFolder() (string, error) {
	candidates := []string{os.TempDir(), "/var/tmp"}
	base := candidates[0]
	for _, c := range candidates {
		var st unix.Statfs_t
		if unix.Statfs(c, &st) == nil && st.Type != unix.TMPFS_MAGIC && unix.Access(c, unix.W_OK) == nil {
			base = c
			break
		}
	}
	dir, err := os.MkdirTemp(base, "ingero-demo-")
	if err != nil {
		return "", fmt.Errorf("make a folder for the demo: %w; set TMPDIR to one that can be written", err)
	}
	return dir, nil
}
