package diagnose

import (
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

var causeMemoryPressure = cause{
	kind:         event.CauseMemoryPressure,
	settings:     []string{event.SettingSwappiness, event.SettingHugePages, event.SettingDefrag},
	takes:        blocked | onCPU,
	claimEpisode: claimMemory,
	inLink:       (*evidence).pressed,
	place:        pressedGroup,
	counts:       []event.Class{event.BlockIO, event.Fault, event.Sleep, event.Other},
	describe:     describeMemory,
}

// claimMemory takes the time in which a thread, or one that it waited for, reclaimed memory before
// it got some, or waited for memory to be read back from swap. Neither needs a baseline: with
// enough memory there is no such time.
func claimMemory(ev *evidence, a *account) []claim {
	claims := a.through(event.CauseMemoryPressure)
	cl := claim{acc: a, key: key{kind: event.CauseMemoryPressure}, class: event.OnCPU}
	for i := range a.Reclaims {
		r := &a.Reclaims[i]
		v := a.reclaimed(r)
		cl.lost += v
		cl.stall = max(cl.stall, v)
		cl.count += int(max(r.Parts, 1))
	}
	for _, o := range a.Rows {
		if !ev.host.swapped(o) {
			continue
		}
		b, e := ledger.Blocked(o)
		v := a.take(o.Class, e-min(b, e))
		cl.lost += v
		cl.stall = max(cl.stall, v)
		cl.count++
	}
	if cl.lost = min(cl.lost, a.Duration); cl.lost == 0 {
		return claims
	}
	cl.explained = cl.lost
	return append(claims, cl)
}

// reclaimed claims the time that a thread spent in a span of reclaim: it ran, or it waited for the
// disk. Time in which it was runnable is left out: then another thread had its CPU.
func (a *account) reclaimed(r *ledger.Reclaimed) uint64 {
	var queue uint64
	blocked := map[event.Class]uint64{}
	for _, o := range a.Rows {
		b, e := ledger.Blocked(o)
		blocked[o.Class] += overlap(b, e, r.From, r.To)
		queue += overlap(e, o.Start+o.Duration, r.From, r.To)
	}
	rest := r.Time - min(r.Time, queue)
	lost := rest
	for _, c := range []event.Class{event.Fault, event.BlockIO, event.Sleep, event.Other} {
		rest -= a.take(c, min(rest, blocked[c]))
	}
	a.take(event.OnCPU, rest)
	return lost
}

func overlap(a, b, from, to uint64) uint64 {
	a, b = max(a, from), min(b, to)
	return b - min(a, b)
}

// pressed returns the time of a link that went to memory reclaim or swap, ns.
func (ev *evidence) pressed(l *ledger.Link) uint64 {
	ns := ledger.ReclaimIn(ev.host.reclaims[l.Thread], l.From, l.To)
	for _, o := range l.Rows {
		if ev.host.swapped(o) {
			b, e := ledger.Blocked(o)
			ns += overlap(b, e, l.From, l.To)
		}
	}
	return min(ns, l.Split.Wall)
}

// pressedGroup returns the control group that was short of memory.
func pressedGroup(ev *evidence, f *finding) (string, bool) {
	if p := ev.procs.byPID[f.root().PID]; p != nil {
		return p.Cgroup, true
	}
	return "", true
}

// pressure says what a finding's lost time went to.
type pressure struct {
	by      [event.ReclaimCompaction + 1]uint64 // ns by kind of reclaim
	swapped uint64
	parts   uint64
}

func (hs *hostState) pressure(claims claimList) pressure {
	var p pressure
	add := func(r *event.Reclaim, ns uint64) {
		if int(r.Kind) < len(p.by) {
			p.by[r.Kind] += ns
		}
		p.parts += uint64(max(r.Parts, 1))
	}
	for _, cl := range claims {
		if cl.through() {
			l := cl.last()
			for _, r := range hs.reclaims[l.Thread] {
				if r.Start < l.To && r.End() > l.From {
					add(r, ledger.ReclaimIn([]*event.Reclaim{r}, l.From, l.To))
				}
			}
		} else {
			for _, r := range cl.acc.Reclaims {
				add(r.Reclaim, r.Time)
			}
		}
		for _, o := range cl.waits() {
			if hs.swapped(o) {
				p.swapped += o.Duration
			}
		}
	}
	return p
}

// details says why memory was reclaimed, and how long it took to read it back. The control group and its
// limit are in words.
func (p *pressure) details(group, limit string) (details []string) {
	for _, k := range []struct {
		kind event.ReclaimKind
		text string
	}{
		{event.ReclaimCgroup, "because its control group" + group + " was at its memory limit" + limit},
		{event.ReclaimDirect, "because the machine was short of free memory"},
		{event.ReclaimCompaction, "compacting memory because free memory was fragmented"},
	} {
		if ns := p.by[k.kind]; ns > 0 {
			details = append(details, fmt.Sprintf("%s %s", span(ns), k.text))
		}
	}
	if p.swapped > 0 {
		details = append(details, span(p.swapped)+" waiting for memory to come back from swap")
	}
	return details
}

func describeMemory(ev *evidence, f *finding, c *report.Chain) {
	t := f.root()
	who, p := ev.procs.name(t.PID, ""), ev.host.pressure(f.claims)
	group, limit := "", ""
	for _, l := range ev.in.Limits {
		if l.PID == t.PID {
			group, limit = " "+l.Cgroup, " of "+report.Bytes(l.Bytes)
		}
	}
	details := p.details(group, limit)
	c.Cause.Detail = fmt.Sprintf("in %d reclaims, %s%s", p.parts, strings.Join(details, ", "), ev.host.memory())
	on := "memory reclaim"
	switch {
	case p.swapped > f.lost/2:
		on = "swap"
		c.Cause.Detail = strings.Join(details, ", ") + ev.host.memory()
	case p.by[event.ReclaimCgroup] > f.lost/2:
		on = "memory reclaim at the limit of its control group"
	}
	everybody, got := p.by[event.ReclaimCgroup] <= f.lost/2, givenMeanwhile(ev, f.claims, t.PID)
	c.Cause.Detail += ev.host.swapWords(f.claims, t.PID) + got.words(everybody)
	if f.worst.through() {
		w := f.about(ev)
		c.Summary = fmt.Sprintf("%s lost %s waiting for %s was short of memory", f.process(ev), f.pct(), f.worst.behind(w))
		c.Path = f.path(ev, "blocked", on)
	} else {
		c.Summary = fmt.Sprintf("%s lost %s short of memory: it waited for %s %s", f.process(ev), f.pct(), on,
			f.claims.place())
		c.Path = []report.Step{f.step(ev, "blocked", on, f.lost)}
	}
	c.Recommendations = []string{
		fmt.Sprintf("give %s more memory than it touches: see VmRSS and VmSwap in /proc/%d/status", who, t.PID),
	}
	if everybody && got.who != "" && got.most > got.all/2 {
		c.Recommendations = append(c.Recommendations, fmt.Sprintf("or let %s, which took most memory meanwhile, use "+
			"less: memory.high of its control group (systemd: MemoryHigh=)", got.who))
	}
	if p.by[event.ReclaimCgroup] > 0 {
		c.Recommendations = []string{
			fmt.Sprintf("raise the memory limit of%s (memory.max and memory.high; memory.limit_in_bytes in version 1; "+
				"Kubernetes: the container's memory limit)", groupOr(group)),
			fmt.Sprintf("or let %s use less: what it reads and writes through the page cache counts too (posix_fadvise "+
				"POSIX_FADV_DONTNEED, O_DIRECT)", who),
		}
	}
}

func groupOr(group string) string {
	if group == "" {
		return " its control group"
	}
	return group
}

// memory describes how full the machine's memory was.
func (hs *hostState) memory() string {
	var pct float64
	var swap uint64
	for _, n := range hs.in.Snapshots {
		pct, swap = max(pct, n.MemPct), max(swap, n.SwapMB)
	}
	if len(hs.in.Snapshots) == 0 {
		return ""
	}
	return fmt.Sprintf("; of the machine's memory up to %.0f %% was in use, and %d MiB of swap", pct, swap)
}
