package demo

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/internal/rig"
	"github.com/ingero-io/ingero/store"
)

// live traces the scenario's program on this machine.
func live(ctx context.Context, s *Scenario, o *Options, dir string) (*Result, error) {
	path := o.Keep
	if path == "" {
		path = filepath.Join(dir, "demo.db")
	}
	seconds := strconv.FormatFloat(o.Length.Seconds(), 'f', -1, 64)
	run, err := rig.Trace(ctx, &rig.Options{
		Args: slices.Concat([]string{"--seconds", seconds}, s.args, o.Args), Dir: dir, DB: path,
		Backend: o.Backend, Node: cmp.Or(o.Node, "demo"), Version: o.Version, Flags: "demo", RawRate: o.RawRate,
		Stack:   o.Stack,
		Session: o.Session, Started: func() { o.Begin(Live, "") }, Sinks: []agent.Sink{progress{o}},
	})
	if err != nil {
		return nil, err
	}
	r, err := explain(ctx, s, o, path, run.Truth)
	if err != nil {
		return nil, err
	}
	r.Mode = Live
	return r, nil
}

// progress passes the state of a run to Options.Progress.
type progress struct{ o *Options }

// Batch implements agent.Sink.
func (p progress) Batch(*store.Batch) {}

// Second implements agent.Sink.
func (p progress) Second(s *agent.Status) {
	if p.o.Progress != nil {
		p.o.Progress(Progress{Elapsed: min(s.Elapsed, p.o.Length), Length: p.o.Length, Calls: s.Calls})
	}
}
