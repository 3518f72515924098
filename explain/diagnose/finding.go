package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// finding is all the time that one thread lost to one cause.
type finding struct {
	key
	cause *cause // of the key's kind
	sub   *subject
	loss
	parts      sharers    // the threads that were waited for, if more than one; most time first
	others     others     // who lost time the same way
	rank       rankLosses // where ranks waited for a late one
	contention contention // who had the CPUs
}

// findings groups the claims on one thread's time by cause.
func (ev *evidence) findings(t *subject) []*finding {
	by := map[key]*finding{}
	all := ev.claims(t)
	joinOthers(t, all)
	for i := range all {
		cl := &all[i]
		if cl.acc.Call == nil {
			t.lostBetween[cl.class] += cl.lost
		}
		f := by[cl.key]
		if f == nil {
			f = &finding{key: cl.key, cause: causeOf(cl.key.kind), sub: t}
			by[cl.key] = f
		}
		f.add(cl)
	}
	list := make([]*finding, 0, len(by))
	for _, f := range by {
		if f.cause.complete != nil {
			f.cause.complete(ev, f)
		}
		list = append(list, f)
	}
	relate(list)
	sortFindings(list)
	return ev.oneOfEach(list)
}

// relate counts the waits for each thread over all their root causes. The holder of a lock may run
// in one wait and be preempted in the next: both findings are evidence that it kept the thread
// waiting.
func relate(list []*finding) {
	waits := map[event.Thread]int{}
	for _, f := range list {
		if f.worst.followed() {
			waits[f.worst.chain[1].Thread] += f.sample
		}
	}
	for _, f := range list {
		if f.worst.followed() {
			f.related = waits[f.worst.chain[1].Thread]
		}
	}
}

// sortFindings ranks by time lost.
func sortFindings(list []*finding) {
	slices.SortFunc(list, func(a, b *finding) int {
		return cmp.Or(cmp.Compare(b.lost, a.lost), cmp.Compare(a.kind, b.kind), cmp.Compare(a.Thread.PID, b.Thread.PID),
			cmp.Compare(a.Thread.TID, b.Thread.TID), cmp.Compare(a.sub.PID, b.sub.PID), cmp.Compare(a.sub.TID, b.sub.TID))
	})
}

func (f *finding) lostPct() float64 { return percent(f.lost, f.sub.wall()) }

func (f *finding) explainedPct(ev *evidence) float64 {
	return percent(f.explained, f.lost) * (1 - ev.missing)
}

// explains reports whether enough of the lost time is explained to name a cause.
func (f *finding) explains(ev *evidence) bool {
	return !f.cause.unexplained && f.explainedPct(ev) >= minShare
}

// root returns the thread in which the cause is found.
func (f *finding) root() event.Thread {
	if f.Thread != (event.Thread{}) {
		return f.Thread
	}
	return f.sub.Thread
}

func (f *finding) process(ev *evidence) string { return ev.procs.name(f.sub.PID, "") }

// pct formats the thread's lost time.
func (f *finding) pct() string {
	pct := f.lostPct()
	if pct < minPct {
		return fmt.Sprintf("%s (%.1f %% of its time)", span(f.lost), pct)
	}
	return fmt.Sprintf("%.*f %% of its time", decimals(pct), pct)
}

func decimals(pct float64) int {
	if pct < 10 {
		return 1
	}
	return 0
}

// step describes the thread itself as a link of the path.
func (f *finding) step(ev *evidence, state, on string, ns uint64) report.Step {
	layer := "HOST"
	if at := f.claims.op(); at.call {
		layer = at.op.Source().String()
	}
	return report.Step{
		Layer: layer, Process: f.process(ev), PID: f.sub.PID, TID: f.sub.TID, Thread: ev.procs.comm(f.sub.Thread),
		State: state, On: on, NS: ns,
	}
}

// path returns the path of steps from the thread through those it waited for to the one at the root,
// which was in the given state.
func (f *finding) path(ev *evidence, state, on string) []report.Step {
	chain := f.worst.chain
	path := []report.Step{f.step(ev, "blocked", ev.waitedOn(f.worst.row, chain[1].Proof), f.lost)}
	if f.parts.several() {
		return append(path, f.parts.steps(&ev.procs, state, on)...)
	}
	for i := 1; i < len(chain); i++ {
		l := &chain[i]
		st := report.Step{
			Layer: "HOST", Process: ev.procs.name(l.Thread.PID, l.Comm), PID: l.Thread.PID, TID: l.Thread.TID,
			Thread: printable(l.Comm), State: state, On: on, NS: f.explained,
		}
		if i < len(chain)-1 {
			st.State, st.On, st.NS = "blocked", ev.waitedOn(l.Wait, chain[i+1].Proof), f.claims.passed(i, l)
		}
		path = append(path, st)
	}
	return path
}

// who names a thread from the point of view of a process: its own threads by name, those of others
// by process.
func (ps *processes) who(t event.Thread, from uint32) string {
	if t.PID != from {
		return fmt.Sprintf("%s (pid %d)", ps.name(t.PID, ps.comm(t)), t.PID)
	}
	if c := ps.comm(t); c != "" {
		return fmt.Sprintf("its thread %s (tid %d)", c, t.TID)
	}
	return fmt.Sprintf("its thread %d", t.TID)
}
