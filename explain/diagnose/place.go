package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// A thread that waits for several threads which lose time in the same way at the same place has one
// problem, not one for each thread. Four data workers on one CPU must be reported once and fixed
// together: fixes for one of them at a time contradict each other.

// oneOfEach joins a thread's findings that are of one kind and at one place. The list is ordered by
// time lost, before and after.
func (ev *evidence) oneOfEach(list []*finding) []*finding {
	var kept []*finding
	at := map[string][]*finding{}
	for _, f := range list {
		where := ev.placeKey(f)
		same := slices.IndexFunc(at[where], func(k *finding) bool { return sharePlace(k, f) })
		if where == "" || same < 0 {
			kept = append(kept, f)
			at[where] = append(at[where], f)
			continue
		}
		at[where][same].join(f)
	}
	for _, f := range kept {
		if len(f.parts) > 0 {
			f.finish(ev)
		}
	}
	sortFindings(kept)
	return kept
}

// placeKey names where another thread's part in a loss happened, empty for a finding that is not
// joined with others.
func (ev *evidence) placeKey(f *finding) string {
	if !f.worst.followed() {
		return ""
	}
	if f.cause.place == nil {
		return ""
	}
	of, ok := f.cause.place(ev, f)
	if !ok {
		return ""
	}
	// How the thread waited is part of the problem: waits for a lock have another fix than waits
	// for data.
	return fmt.Sprintf("%s %v %v %v %s", f.kind, f.loading, f.worst.locked(), f.root().PID == f.sub.PID, of)
}

// sharePlace reports whether findings with the same key are at the same place.
func sharePlace(a, b *finding) bool { return a.cause.samePlace == nil || a.cause.samePlace(a, b) }

// sameProcess returns the place of a loss whose root may be any thread of a process.
func sameProcess(_ *evidence, f *finding) (string, bool) { return itoa(f.root().PID), true }

// join adds the time of another finding about the same problem.
func (f *finding) join(o *finding) {
	if len(f.parts) == 0 {
		f.parts = sharers{f.sharer()}
	}
	f.parts = append(f.parts, o.sharer())
	for _, cl := range o.claims {
		f.add(cl)
	}
	for c := range o.contention.cpus {
		f.contention.on(c)
	}
	f.related += o.related
}

func (f *finding) sharer() sharer {
	last := f.worst.last()
	return sharer{Thread: f.Thread, comm: last.Comm, lost: f.lost, explained: f.explained}
}

// finish sorts and completes a finding that was joined from several.
func (f *finding) finish(ev *evidence) {
	slices.SortStableFunc(f.claims, func(a, b *claim) int { return cmp.Compare(a.acc.Start, b.acc.Start) })
	f.parts.sort()
	f.Thread = f.parts[0].Thread
	if f.cause.complete == nil {
		return
	}
	f.recount()
	f.cause.complete(ev, f)
}

// about names the threads at the root of a finding's waits.
func (f *finding) about(ev *evidence) string {
	if !f.parts.several() {
		return ev.procs.who(f.root(), f.sub.PID)
	}
	return f.parts.names(&ev.procs, f.sub.PID)
}

// culprits returns the threads that a finding is about, with their shares: those that had the CPU of a
// runnable thread, else those that were waited for. It is nil if there is only one.
func (f *finding) culprits(ev *evidence) []report.Culprit {
	var list []report.Culprit
	if f.cause.culprits != nil {
		list = f.cause.culprits(ev, f)
	} else {
		list = f.parts.culprits(&ev.procs, f.lost)
	}
	list = slices.DeleteFunc(list, func(c report.Culprit) bool { return c.Pct < 100*minUse })
	if len(list) < 2 {
		return nil
	}
	return list
}

// also returns other kinds under which users may look for the finding if they know only how the thread
// waited: for data from its workers, or for a lock.
func (f *finding) also(ev *evidence) []string {
	if !f.worst.followed() || f.cause.unexplained || f.cause.saysHow {
		return nil
	}
	chain := f.worst.chain
	kind := ""
	switch t := f.root(); {
	case f.worst.locked():
		kind = event.CauseLockContention
	case t.PID != f.sub.PID && ev.procs.feeds(t.PID, f.sub.PID) &&
		slices.ContainsFunc(chain[1:], func(l ledger.Link) bool { return bySending(&l) }):
		kind = event.CauseInputStarvation
	}
	if kind == "" || kind == f.kind {
		return nil
	}
	return []string{kind}
}
