package diagnose

import (
	"fmt"
	"slices"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/report"
)

// spaceWords are the names of the memory spaces.
var spaceWords = [event.NumSpaces]string{"device memory", "page-locked host memory"}

func (g *growth) memory() string {
	if g.space < event.NumSpaces {
		return spaceWords[g.space]
	}
	return "memory"
}

// perMinute formats the rate of growth.
func (g *growth) perMinute() string { return report.Bytes(uint64(g.rate*60e9)) + "/min" }

func (g *growth) at() string { return time.Unix(0, int64(g.since)).UTC().Format("15:04:05") + " UTC" }

func (g *growth) severity() event.Severity {
	if g.rate >= leakFast || g.left > 0 && float64(g.left) < leakSoon {
		return event.SeverityMedium
	}
	return event.SeverityLow
}

// chain makes the growth's chain.
func (g *growth) chain(ev *evidence) report.Chain {
	e, ns := ev.allocating(g)
	c := ev.newChain(event.CauseMemoryLeak, fmt.Sprintf("%d|%d", g.pid, g.space), g.severity(), e)
	c.Evidence.Sample = int(g.count)
	c.Summary = fmt.Sprintf("%s's %s grows by %s and is not freed: %s in %s since %s",
		e.Process, g.memory(), g.perMinute(), report.Bytes(g.bytes), plural(int(g.count), "allocation", "allocations"),
		g.at())
	last := &g.rows[len(g.rows)-1]
	c.Cause.Detail = fmt.Sprintf("at the end %s live in %s", report.Bytes(last.LiveBytes),
		plural(int(last.LiveCount), "allocation", "allocations"))
	if g.left > 0 {
		c.Cause.Detail += fmt.Sprintf("; at this rate all %s of the machine are used up in %s",
			report.Bytes(ev.heaps.capacity(g.space)), long(g.left))
	}
	layer := event.SourceCUDA.String()
	if g.site.Op != 0 {
		layer = g.site.Op.Source().String()
	}
	c.Path = []report.Step{{
		Layer: layer, Process: e.Process, PID: g.pid, TID: e.TID, Thread: e.Thread, State: "running",
		On: e.Op + " without a free", NS: ns,
	}}
	g.where(ev, &c)
	return c
}

// where adds which code allocates the memory that is not freed.
func (g *growth) where(ev *evidence, c *report.Chain) {
	name, op := c.Cause.Process, c.Effect.Op
	share := percent(g.from, g.bytes)
	caller := ""
	if st, ok := ev.in.Stacks[g.site.Stack]; ok && len(st.Frames) > 0 && share >= minShare {
		c.Stack = recording.Frames(&st)
		caller = called(namable(st.Frames).String())
	}
	switch {
	case caller != "":
		c.Cause.Detail += fmt.Sprintf("; %.0f %% of the growth is %s called by %s", share, op, caller)
		c.Recommendations = append(c.Recommendations,
			fmt.Sprintf("see who keeps what %s allocates: it is called by %s, and what it returns is not freed", op, caller))
	case g.site.Stack != 0 && share < minShare:
		c.Cause.Detail += fmt.Sprintf("; it comes from several places, the largest has %.0f %% of it", share)
		c.Recommendations = append(c.Recommendations,
			"compare the places over time: select op, stack_hash, live_bytes, timestamp from memory_sites order by timestamp")
	case g.site.Op == 0: // the records of places were pruned
		c.Recommendations = append(c.Recommendations,
			fmt.Sprintf("find the code that allocates it: sudo ingero trace --pid %d --stack=all", g.pid))
	default:
		c.Cause.Detail += fmt.Sprintf("; %.0f %% of the growth is from %s, and the code that calls it is not known", share,
			op)
		c.Recommendations = append(c.Recommendations,
			fmt.Sprintf("find the code that allocates it: sudo ingero trace --pid %d --stack=all", g.pid))
	}
	if g.site.Oldest != 0 && g.site.Oldest < g.rows[len(g.rows)-1].At && share >= minShare {
		c.Cause.Detail += fmt.Sprintf("; the oldest of these was allocated %s before the end",
			long(g.rows[len(g.rows)-1].At-g.site.Oldest))
	}
	if g.space == event.PinnedMemory {
		c.Recommendations = append(c.Recommendations,
			fmt.Sprintf("page-locked memory cannot be swapped out: let %s reuse its buffers", name))
		return
	}
	c.Recommendations = append(c.Recommendations, ev.procs.advise(g.pid, nil, adviceLeak)...)
}

// namable returns the frame to name: the innermost Python frame, or else the innermost frame with a
// symbol.
func namable(frames []event.Frame) *event.Frame {
	for i := range frames {
		if frames[i].Kind == event.FramePython {
			return &frames[i]
		}
	}
	return &frames[max(0, slices.IndexFunc(frames, func(f event.Frame) bool { return f.Symbol != "" }))]
}

// allocating describes the calls that allocate the memory that is not freed, on the thread with
// most of these calls, and their total time, ns.
func (ev *evidence) allocating(g *growth) (report.Effect, uint64) {
	e := report.Effect{Op: "an allocating call", Process: ev.procs.name(g.pid, ""), PID: g.pid, TID: g.pid}
	var most, ns uint64
	var hist stats.Histogram
	for _, st := range ev.heaps.memoryOps(g.pid) {
		if st.Op != g.site.Op {
			continue
		}
		e.Op, e.Calls, e.MaxNS = st.Op.String(), e.Calls+st.Calls, max(e.MaxNS, st.MaxNS)
		ns += st.SumNS
		hist.Merge(st.Hist)
		if st.Calls > most || st.Calls == most && st.TID < e.TID {
			most, e.TID = st.Calls, st.TID
		}
	}
	e.Thread = ev.procs.comm(event.Thread{PID: g.pid, TID: e.TID})
	quantiles(&e, &hist)
	return e, ns
}

// long formats a time of minutes, hours or days.
func long(ns uint64) string {
	switch d := time.Duration(ns); {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%.0f hours", d.Hours())
	case d >= 2*time.Minute:
		return fmt.Sprintf("%.0f minutes", d.Minutes())
	}
	return span(ns)
}
