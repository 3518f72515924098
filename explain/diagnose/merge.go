package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// others are who else lost time to the same root as a finding's thread.
type others struct {
	threads   int // of the same process
	processes []victim
}

// victim is another process that lost time to the same root.
type victim struct {
	pid  uint32
	lost uint64 // ns
}

// merge joins findings that have the same root: first those of the threads of one process, then
// those of processes. The finding of the thread that lost most stays and names the others. Their
// losses are not added up, because they happened at the same time. The list is ordered by time
// lost.
func (ev *evidence) merge(list []*finding) []*finding {
	return ev.mergeProcesses(ev.mergeThreads(list))
}

// mergeThreads joins the findings of one cause on the threads of a process, but not those with different roots outside
// of it: two threads may lose their CPUs to two programs.
func (ev *evidence) mergeThreads(list []*finding) []*finding {
	type group struct {
		key
		pid uint32
	}
	first := map[group][]*finding{}
	var kept []*finding
	for _, f := range list {
		g := group{f.key, f.sub.PID}
		root := ev.outside(f)
		same := slices.IndexFunc(first[g], func(k *finding) bool {
			r := ev.outside(k)
			return r == root || r == "" || root == ""
		})
		if same >= 0 {
			first[g][same].others.threads++
			continue
		}
		first[g] = append(first[g], f)
		kept = append(kept, f)
	}
	return kept
}

// outside names the root of a finding if it is in another program; else it is empty. A program's own workers, which
// each may have had the CPU of another thread, are one.
func (ev *evidence) outside(f *finding) string {
	if ran := f.contention.ranked(&ev.procs); len(ran) > 0 && ev.procs.feeds(ran[0].PID, f.sub.PID) {
		return ""
	}
	return ev.shared(f)
}

func (ev *evidence) mergeProcesses(list []*finding) []*finding {
	first := map[string]*finding{}
	var kept []*finding
	for _, f := range list {
		root := ev.shared(f)
		k := first[root]
		if root != "" && k != nil && k.sub.PID != f.sub.PID { // the same process is not another victim
			k.others.processes = append(k.others.processes, victim{f.sub.PID, f.lost})
			continue
		}
		if k == nil {
			first[root] = f
		}
		kept = append(kept, f)
	}
	return kept
}

// shared names the root of a finding if several processes may have it in common: the thread,
// process, control group or server that caused the loss. It is empty if the root is the process's
// own.
func (ev *evidence) shared(f *finding) string {
	switch {
	case !f.explains(ev):
		return ""
	case f.cause.sharedRoot != nil:
		return f.cause.sharedRoot(ev, f)
	case f.worst.through() && f.Thread.TID != 0:
		return fmt.Sprintf("%s %d", f.kind, f.Thread.TID)
	}
	return ""
}

// maxVictims is the largest number of other processes that a finding names.
const maxVictims = 5

// words names them; process is the name of the thread's own. Empty if there is nobody.
func (o *others) words(ps *processes, process string) string {
	var b strings.Builder
	if o.threads > 0 {
		fmt.Fprintf(&b, "; %d other threads of %s lost time the same way", o.threads, process)
	}
	if len(o.processes) == 0 {
		return b.String()
	}
	slices.SortFunc(o.processes,
		func(a, b victim) int { return cmp.Or(cmp.Compare(b.lost, a.lost), cmp.Compare(a.pid, b.pid)) })
	b.WriteString("; it also cost ")
	for i, v := range o.processes[:min(len(o.processes), maxVictims)] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s (pid %d) %s", ps.name(v.pid, ""), v.pid, span(v.lost))
	}
	if n := len(o.processes) - maxVictims; n > 0 {
		fmt.Fprintf(&b, " and %d more processes time", n)
	}
	return b.String()
}
