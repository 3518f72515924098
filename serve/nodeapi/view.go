package nodeapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/store"
)

// readView opens the recording for a request.
func (a *API) readView(ctx context.Context, in *input, f func(*recording.View) error) error {
	return a.src.Read(ctx, func(r store.Recording) error {
		q := recording.Question{Span: in.span, Scope: recording.Scope{PIDs: in.pids, Process: in.process, Op: in.op}}
		v, err := recording.Ask(ctx, r, q, a.opts.Now())
		switch {
		case err == nil:
			return f(v)
		case recording.IsMistaken(err):
			return asked{worded(err)}
		}
		return err
	})
}

// worded adds where to find the list of processes.
func worded(err error) error {
	if _, ok := errors.AsType[*recording.NoProcessError](err); ok {
		return fmt.Errorf("%w; %sprocesses lists those that were", err, Prefix)
	}
	return err
}

// node is the node name of the recording, else that of this machine.
func (a *API) node(recorded string) string { return cmp.Or(recorded, a.opts.Node) }

// about returns the window and the number of dropped records.
func (a *API) about(p *recording.Part) wire.About {
	w := report.Window{Note: p.Note}
	w.FromNS, w.ToNS = p.Bounds()
	return wire.About{Node: a.node(p.Sum.Node), Window: w, Lost: event.LossCounts(p.Sum.Losses)}
}

// explain diagnoses the window.
func (a *API) explain(ctx context.Context, v *recording.View) (*report.Report, error) {
	return diagnose.Explain(ctx, v.Recording, v.Window, func(in *diagnose.Input) {
		in.DB, in.Note = a.src.Name(), v.Note
		in.Only(v.PIDs)
	})
}
