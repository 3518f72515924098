package main

import (
	"context"
	"fmt"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/tui"
)

// liveView shows a run on the terminal in tabs, and its summary at the end.
type liveView struct {
	c    *console
	log  *lockedBuffer
	opts tui.Options

	ready chan struct{} // closed once there is a view
	view  *tui.View
}

func (v *liveView) run(ctx context.Context, o agent.Options) (agent.Summary, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v.opts.Stop = cancel
	v.view = tui.New(v.opts, v.c.in, v.c.out)
	close(v.ready)
	o.Started = func(s agent.Start) { v.view.Started(startLine(&s, noProcess)) }
	o.Sinks = append(o.Sinks, v.view)

	var sum agent.Summary
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		sum, err = agent.Run(ctx, o)
		v.view.End()
	}()
	viewErr := v.view.Run()
	if v.opts.Nodes != nil {
		v.opts.Nodes.Close()
	}
	cancel() // tracing without a view would be useless
	<-ended
	fmt.Fprint(v.c.err, v.log)
	if err == nil && viewErr != nil {
		err = fmt.Errorf("%w; without a terminal: ingero trace | cat", viewErr)
	}
	return sum, err
}

// found shows a report of the live diagnosis.
func (v *liveView) found(r *report.Report) {
	<-v.ready
	v.view.Found(r)
}

// changed shows a change.
func (v *liveView) changed(c *report.Change) {
	<-v.ready
	v.view.Changed(c)
}

// event shows an event of a fleet.
func (v *liveView) event(e *wire.Event, who string) {
	<-v.ready
	v.view.Told(uint64(e.At.UnixNano()), eventLine(e, who), e.Resolved)
}

func (v *liveView) summary(s *agent.Summary, next string) error {
	return writeSummary(v.c.out, s, next, report.TextOptions{Width: v.c.width(v.c.out), Color: v.c.colour(v.c.out)})
}
