package diagnose

import (
	"fmt"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// The steps of using graphs, as in event.Op.GraphStep.
const (
	graphMake    = "GraphInstantiate"
	graphUpdate  = "GraphExecUpdate"
	graphLaunch  = "GraphLaunch"
	graphDestroy = "GraphExecDestroy"
	captureBegin = "StreamBeginCapture" // a prefix: StreamBeginCaptureToGraph begins one, too
	captureEnd   = "StreamEndCapture"
)

// graphUse is what a process does with graphs. The driver calls inside runtime calls are left out.
type graphUse struct {
	pid     uint32
	ops     map[string]*graphOp // by step
	seconds []graphSecond       // from the first to the last with a launch of any kind
}

// graphOp sums one step over the process's threads.
type graphOp struct {
	calls, errors uint64
	most          *store.OpStat // of the thread with most of the calls
}

// graphSecond is one second of a process, or several in a long recording.
type graphSecond struct {
	at                uint64 // Unix seconds
	made, gone        uint64 // executable graphs
	launched, kernels uint64 // graphs; kernels one by one
	ns                map[event.Op]uint64
}

func (g *graphUse) calls(step string) uint64 {
	if o := g.ops[step]; o != nil {
		return o.calls - min(o.errors, o.calls)
	}
	return 0
}

// readGraphs finds the processes that use graphs.
func (ev *evidence) readGraphs() {
	by := map[uint32]*graphUse{}
	for _, t := range ev.subjects {
		for _, o := range t.ops {
			if o.Op.GraphStep() != "" && by[t.PID] == nil {
				by[t.PID] = &graphUse{pid: t.PID, ops: map[string]*graphOp{}}
			}
		}
	}
	for _, t := range ev.subjects { // by process
		if g := by[t.PID]; g != nil {
			g.add(t)
		}
	}
	for _, t := range ev.subjects {
		if g := by[t.PID]; g != nil {
			g.seconds = ev.graphSeconds(g.pid)
			ev.graphs = append(ev.graphs, g)
			delete(by, t.PID)
		}
	}
}

func (g *graphUse) add(t *subject) {
	for _, o := range t.ops {
		step := o.Op.GraphStep()
		if step == "" {
			continue
		}
		u := g.ops[step]
		if u == nil {
			u = &graphOp{}
			g.ops[step] = u
		}
		u.calls, u.errors = u.calls+o.Calls, u.errors+o.Errors
		if u.most == nil || o.Calls > u.most.Calls {
			u.most = o
		}
	}
}

// graphSeconds returns the seconds of a process from its first launch to its last, including those
// without a launch.
func (ev *evidence) graphSeconds(pid uint32) []graphSecond {
	by := map[uint64]*graphSecond{}
	var first, last uint64
	for _, t := range ev.subjects {
		if t.PID != pid {
			continue
		}
		for _, op := range t.ops {
			for _, o := range ev.calls.series[threadOp{t.Thread, op.Op}] {
				c := by[o.Second]
				if c == nil {
					c = &graphSecond{at: o.Second, ns: map[event.Op]uint64{}}
					by[o.Second] = c
				}
				c.add(&o)
				if launches := o.Op.Role() == event.RoleLaunch; launches && (first == 0 || o.Second < first) {
					first = o.Second
				}
				if o.Op.Role() == event.RoleLaunch {
					last = max(last, o.Second)
				}
			}
		}
	}
	var list []graphSecond
	for at := first; at != 0 && at <= last && len(list) < maxGraphSeconds; at += max(ev.in.SeriesStep, 1) {
		if c := by[at]; c != nil {
			list = append(list, *c)
		} else {
			list = append(list, graphSecond{at: at})
		}
	}
	return list
}

const maxGraphSeconds = 1 << 17 // a day and a half

func (c *graphSecond) add(o *store.OpSecond) {
	c.ns[o.Op] += o.SumNS
	switch step := o.Op.GraphStep(); {
	case step == graphMake:
		c.made += o.Calls
	case step == graphDestroy:
		c.gone += o.Calls
	case step == graphLaunch:
		c.launched += o.Calls
	case o.Op.Role() == event.RoleLaunch:
		c.kernels += o.Calls
	}
}

// graphFaults reports problems in how processes use graphs for which no lost time can be summed up.
func (ev *evidence) graphFaults() []report.Chain {
	var chains []report.Chain
	for _, g := range ev.graphs {
		for _, tell := range []func(*evidence, *graphUse) (report.Chain, bool){captureFailed, poolGrowth, launchDrop} {
			if c, ok := tell(ev, g); ok {
				c.Owners = ev.procs.owners(&c)
				chains = append(chains, c)
			}
		}
	}
	return chains
}

// graphChain returns a finding about one step of a process's graphs.
func (ev *evidence) graphChain(g *graphUse, kind string, severity event.Severity, o *graphOp) report.Chain {
	t := o.most.Thread
	e := report.Effect{
		Op: o.most.Op.String(), Process: ev.procs.name(g.pid, ""), PID: g.pid, TID: t.TID, Thread: ev.procs.comm(t),
		Calls: o.calls,
		MaxNS: o.most.MaxNS,
	}
	quantiles(&e, o.most.Hist)
	return ev.newChain(kind, fmt.Sprintf("%s|%d", kind, g.pid), severity, e)
}

// graphPath is the only link of such a finding's path.
func graphPath(c *report.Chain, op event.Op, state, on string, ns uint64) {
	c.Path = []report.Step{{
		Layer: op.Source().String(), Process: c.Cause.Process, PID: c.Cause.PID, TID: c.Cause.TID, Thread: c.Cause.Thread,
		State: state, On: on, NS: ns,
	}}
}

// siteOf describes where the calls of an operation come from, empty if no stack is known.
func (cs *callStats) siteOf(o *store.OpStat) string {
	for i := range cs.in.Calls {
		c := &cs.in.Calls[i]
		if c.Op != o.Op || c.PID != o.PID {
			continue
		}
		st := cs.in.Stacks[c.Stack]
		if f := event.Site(st.Frames); f != nil {
			return called(f.String())
		}
	}
	return ""
}

func clockOf(second uint64) string {
	return time.Unix(int64(second), 0).UTC().Format("15:04:05") + " UTC"
}
