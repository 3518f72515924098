package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/tui/live"
)

// ledger lists how each thread spent its time.
type ledger struct{}

func (ledger) title() string       { return "Ledger" }
func (ledger) badge(*Model) uint64 { return 0 }
func (ledger) orders() []string    { return []string{"process", "lost", "on CPU"} }

// windowWord names one of live.Windows.
func windowWord(i int) string {
	if w := live.Windows[i]; w != 0 {
		return "last " + report.FormatDuration(w)
	}
	return "whole run"
}

func (l ledger) page(m *Model, width int) page {
	p := page{empty: "no thread was accounted for yet; " + m.started}
	p.columns = []column{
		{title: "THREAD", least: 10},
		{title: strings.ToUpper(windowWord(m.window)), least: 12, fill: true},
		{title: "ON CPU", right: true, drop: 2},
		{title: "LOST", right: true, drop: 1},
		{title: "WAITED FOR", drop: 3},
	}
	used := map[byte]bool{}
	order := m.state().order
	last := uint32(0)
	for i, t := range l.sorted(m.shown.picture.Threads, m.window, order) {
		if order == 0 && (i == 0 || t.PID != last) {
			p.rows = append(p.rows, row{
				key:  fmt.Sprint(t.PID),
				head: fmt.Sprintf("%s (%d)", report.OneLine(cmp.Or(t.Process, t.Comm)), t.PID), style: bold, group: true,
			})
		}
		last = t.PID
		s := &t.Spans[m.window]
		for _, g := range segments(s) {
			used[g.letter] = used[g.letter] || g.ns >= s.NS/100
		}
		p.rows = append(p.rows, l.row(m, &t))
	}
	p.below = m.legend(used, width)
	if n := m.shown.picture.MoreThreads; n > 0 {
		p.below = append(p.below, fmt.Sprintf("%s of threads are not shown: there are too many", report.Plural(n, "record")))
	}
	return p
}

func (l ledger) row(m *Model, t *live.Thread) row {
	s := t.Spans[m.window]
	name := fmt.Sprintf("%s (%d)", report.OneLine(t.Comm), t.TID)
	if t.Ended {
		name += " ended"
	}
	lost := cell{text: percent(s.Lost(), s.NS)}
	if s.NS > 0 && float64(s.Lost()) >= slight*float64(s.NS) {
		lost.style = warn
	}
	waited := ""
	c, ns := most(&s.Class)
	if lost.style == warn { // lost time matters more than the scheduling policy
		c, ns = mostLost(&s.Class)
	}
	if ns > 0 {
		waited = fmt.Sprintf("%s %s", c.Title(), percent(ns, s.NS))
	}
	return row{
		key: fmt.Sprintf("%d/%d", t.PID, t.TID),
		cells: []cell{
			text(name),
			{draw: func(w int) string { return m.bar(segments(&s), w) }},
			text(percent(s.OnCPU, s.NS)), lost, text(waited),
		},
		open: func(width int) []string { return l.details(m, t, width) },
	}
}

// details has the time of a thread by class, for the chosen window and, in short, for the others.
func (ledger) details(m *Model, t *live.Thread, width int) []string {
	s := &t.Spans[m.window]
	lines := []string{
		m.paint(bold, fmt.Sprintf("%s (tid %d) of %s (%d)", report.OneLine(t.Comm), t.TID, report.OneLine(t.Process), t.PID)),
		"", fmt.Sprintf("%s, that is %s:", windowWord(m.window), report.Duration(s.NS)),
	}
	lines = append(lines, m.split(s, width)...)
	lines = append(lines, "")
	for i := range live.Windows {
		s := &t.Spans[i]
		lines = append(lines,
			fmt.Sprintf("  %-10s  on CPU %6s  lost %6s", windowWord(i), percent(s.OnCPU, s.NS), percent(s.Lost(), s.NS)))
	}
	if !t.Dispatch {
		lines = append(lines, "", "It has made no traced call: what it waits for need not hold up the GPU.")
	}
	return lines
}

// sorted has the threads of a process together, or those with most lost, or most CPU time, first.
func (ledger) sorted(list []live.Thread, window, order int) []live.Thread {
	if order == 0 {
		return byProcess(list)
	}
	list = slices.Clone(list)
	share := func(t *live.Thread) float64 {
		s := &t.Spans[window]
		if order == 1 {
			return float64(s.Lost()) / float64(max(s.NS, 1))
		}
		return float64(s.Of(event.OnCPU)) / float64(max(s.NS, 1))
	}
	slices.SortStableFunc(list, func(a, b live.Thread) int { return cmp.Compare(share(&b), share(&a)) })
	return list
}

// byProcess keeps the order of the processes' first threads, and puts their other threads after
// them.
func byProcess(list []live.Thread) []live.Thread {
	first := map[uint32]int{}
	for i := range list {
		if _, ok := first[list[i].PID]; !ok {
			first[list[i].PID] = i
		}
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b live.Thread) int { return cmp.Compare(first[a.PID], first[b.PID]) })
	return list
}
