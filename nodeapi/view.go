package nodeapi

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/diagnose"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/nodeapi/wire"
	"github.com/ingero-io/ingero/recording"
	"github.com/ingero-io/ingero/report"
	"github.com/ingero-io/ingero/store"
)

// view is the part of a recording that a request is about.
type view struct {
	store.Recording
	recording.Part
	names map[uint32]string
	pids  []uint32 // only these; empty: all
}

// read opens the recording for a request.
func (a *API) read(ctx context.Context, in *input, f func(*view) error) error {
	return a.src.Read(ctx, func(r store.Recording) error {
		v := &view{Recording: r, names: map[uint32]string{}, pids: in.pids}
		var err error
		if v.Part, err = recording.Choose(ctx, r, in.span, a.opts.Now()); err != nil {
			if recording.IsSpanError(err) {
				err = asked{err}
			}
			return err
		}
		list, err := r.Processes(ctx)
		if err != nil {
			return err
		}
		for i := range list {
			v.names[list[i].PID] = list[i].Name
		}
		if err := v.choose(in); err != nil {
			return err
		}
		return f(v)
	})
}

// choose finds the processes that are asked for.
func (v *view) choose(in *input) error {
	for _, pid := range in.pids {
		if _, ok := v.names[pid]; !ok {
			return asked{fmt.Errorf("no process %d was recorded; %sprocesses lists those that were", pid, Prefix)}
		}
	}
	if in.process == "" {
		return nil
	}
	var pids []uint32
	for pid, name := range v.names {
		if strings.EqualFold(name, in.process) && (len(in.pids) == 0 || slices.Contains(in.pids, pid)) {
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		return asked{fmt.Errorf("no process %q was recorded; %sprocesses lists those that were", in.process, Prefix)}
	}
	slices.Sort(pids)
	v.pids = pids
	return nil
}

func (v *view) wants(pid uint32) bool { return len(v.pids) == 0 || slices.Contains(v.pids, pid) }

// node is what the recording is called; a recording that does not say is this machine's.
func (a *API) node(recorded string) string { return cmp.Or(recorded, a.opts.Node) }

// about tells the window and what could not be recorded.
func (a *API) about(v *view) wire.About {
	w := report.Window{Note: v.Note}
	w.FromNS, w.ToNS = v.Bounds()
	return wire.About{Node: a.node(v.Sum.Node), Window: w, Lost: event.LossCounts(v.Sum.Losses)}
}

// explain diagnoses the window.
func (a *API) explain(ctx context.Context, v *view) (*report.Report, error) {
	return diagnose.Explain(ctx, v.Recording, v.Window, func(in *diagnose.Input) {
		in.DB, in.Note = a.src.Name(), v.Note
		in.Only(v.pids)
	})
}
