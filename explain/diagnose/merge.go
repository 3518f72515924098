package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// victim is another process that lost time to the same root.
type victim struct {
	pid  uint32
	lost uint64
}

// merge makes one finding of those that have the same root: of the threads of one
// process first, then of the processes. That of the thread which lost most stays
// and names the others; what they lost is not added up, because they lost it at
// the same time. The list is in order of time lost.
func (ev *evidence) merge(list []*finding) []*finding {
	return ev.mergeProcesses(mergeThreads(list))
}

func mergeThreads(list []*finding) []*finding {
	type group struct {
		key
		pid uint32
	}
	first := map[group]*finding{}
	var kept []*finding
	for _, f := range list {
		g := group{f.key, f.sub.PID}
		if k := first[g]; k != nil {
			k.others++
			continue
		}
		first[g] = f
		kept = append(kept, f)
	}
	return kept
}

func (ev *evidence) mergeProcesses(list []*finding) []*finding {
	first := map[string]*finding{}
	var kept []*finding
	for _, f := range list {
		root := ev.shared(f)
		k := first[root]
		if root != "" && k != nil && k.sub.PID != f.sub.PID { // another way to it of one's own is no other victim
			k.victims = append(k.victims, victim{f.sub.PID, f.lost})
			continue
		}
		if k == nil {
			first[root] = f
		}
		kept = append(kept, f)
	}
	return kept
}

// shared names the root of a finding if several processes may suffer from it: the
// thread or process that was in the way, the control group, the server. Empty
// means that it is the process's own.
func (ev *evidence) shared(f *finding) string {
	switch {
	case !f.explains(ev):
		return ""
	case f.cause.sharedRoot != nil:
		return f.cause.sharedRoot(ev, f)
	case f.through() && f.Thread.TID != 0:
		return fmt.Sprintf("%s %d", f.kind, f.Thread.TID)
	}
	return ""
}

// maxVictims is how many other processes a finding names.
const maxVictims = 5

// alike words who else lost time to the same root, empty if nobody.
func (f *finding) alike(ev *evidence) string {
	var b strings.Builder
	if f.others > 0 {
		fmt.Fprintf(&b, "; %d other threads of %s lost time the same way", f.others, f.process(ev))
	}
	if len(f.victims) == 0 {
		return b.String()
	}
	slices.SortFunc(f.victims,
		func(a, b victim) int { return cmp.Or(cmp.Compare(b.lost, a.lost), cmp.Compare(a.pid, b.pid)) })
	b.WriteString("; it also cost ")
	for i, v := range f.victims[:min(len(f.victims), maxVictims)] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s (pid %d) %s", ev.procs.name(v.pid, ""), v.pid, span(v.lost))
	}
	if n := len(f.victims) - maxVictims; n > 0 {
		fmt.Fprintf(&b, " and %d more processes time", n)
	}
	return b.String()
}
