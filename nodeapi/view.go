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
	"github.com/ingero-io/ingero/report"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// view is the part of a recording that a request is about.
type view struct {
	sqlite.Recording
	sum   store.Summary
	win   store.Window
	note  string
	names map[uint32]string
	pids  []uint32 // only these; empty: all
}

// read opens the recording for a request.
func (a *API) read(ctx context.Context, in *input, f func(*view) error) error {
	return a.src.Read(ctx, func(r sqlite.Recording) error {
		sum, err := r.Summary(ctx)
		if err != nil {
			return err
		}
		v := &view{Recording: r, sum: sum, names: map[uint32]string{}, pids: in.pids}
		if v.win, v.note, err = in.span.Window(sum, a.opts.Now()); err != nil {
			return asked{err}
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

// about tells the window and what was lost in it.
func (a *API) about(ctx context.Context, v *view) (wire.About, error) {
	lost, err := v.Losses(ctx, v.win)
	if err != nil {
		return wire.About{}, err
	}
	w := report.Window{FromNS: v.win.From, ToNS: v.win.To, Note: v.note}
	w.FromNS, w.ToNS = cmp.Or(w.FromNS, v.sum.First), cmp.Or(w.ToNS, v.sum.Last)
	return wire.About{Node: a.node(v.sum.Node), Window: w, Lost: event.LossCounts(lost)}, nil
}

// explain diagnoses the window.
func (a *API) explain(ctx context.Context, v *view) (*report.Report, error) {
	return diagnose.Explain(ctx, v.Recording, v.win, func(in *diagnose.Input) {
		in.DB, in.Note = a.src.Name(), v.note
		in.Only(v.pids)
	})
}
