package nodeapi

import (
	"context"
	"path/filepath"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/store"
)

func recorded(ctx context.Context, a *API, _ *input) (out wire.Recording, err error) {
	err = a.src.Read(ctx, func(r store.Recording) error {
		s, err := recording.Summarize(ctx, r, a.opts.Now())
		if err != nil {
			return err
		}
		out = wire.Recording{
			Node: a.node(s.Node), DB: a.src.Name(), Version: a.opts.Version, Schema: s.Schema, FirstNS: s.First, LastNS: s.Last,
			Calls: s.Outermost, Stored: s.Stored, Sessions: sessions(&s.Summary), Lost: event.LossCounts(s.Losses),
			Baselines: []string{},
		}
		for _, b := range a.opts.Baselines {
			out.Baselines = append(out.Baselines, filepath.Base(b.Name()))
		}
		return nil
	})
	return out, err
}

// sessions are the runs of the tracer that made a recording.
func sessions(s *store.Summary) []wire.Session {
	out := []wire.Session{}
	for i := range s.Sessions {
		e := &s.Sessions[i]
		out = append(out, wire.Session{
			StartedNS: e.Started, StoppedNS: e.Stopped, Node: e.Node, Host: e.Host, Kernel: e.Kernel, Arch: e.Arch, CPUs: e.CPUs,
			Version: e.Version,
		})
	}
	return out
}
