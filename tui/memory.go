package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/tui/live"
)

// memory lists the memory of processes, and the call sites that allocated it.
type memory struct{}

func (memory) title() string { return "Memory" }

// badge counts allocations that failed.
func (memory) badge(m *Model) uint64 {
	if m.latest == nil {
		return 0
	}
	failed := uint64(0)
	for i := range m.latest.picture.Memory {
		for _, s := range m.latest.picture.Memory[i].Spaces {
			failed += s.Failed
		}
	}
	return failed
}

func (memory) orders() []string { return []string{"live", "peak", "failed"} }

// sitesShown is the number of sites listed below a process.
const sitesShown = 3

func (p memory) page(m *Model, width int) page {
	pic := m.shown.picture
	list := page{
		empty: "No memory was allocated through CUDA since tracing began; what a process had before is not known.",
		columns: []column{
			{title: "PROCESS", least: 10},
			{title: "LIVE", right: true},
			{title: "PEAK", right: true, drop: 1},
			{title: "ALLOCS", right: true, drop: 4},
			{title: "FAILED", right: true},
			{title: "PINNED", right: true, drop: 3},
			{title: "HOST RSS", right: true, drop: 2},
		},
	}
	list.above = append(p.gpus(pic, width), p.host(pic)...)
	if len(list.above) > 0 {
		list.above = append(list.above, "")
	}
	for _, h := range p.sorted(pic.Memory, m.state().order) {
		list.rows = append(list.rows, p.row(m, &h))
		for i := range h.Sites[:min(len(h.Sites), sitesShown)] {
			list.rows = append(list.rows, row{
				key: fmt.Sprintf("%d site %d", h.PID, i), head: "    " + siteLine(&h.Sites[i]),
				style: dim, open: p.opens(m, &h),
			})
		}
	}
	return list
}

func (p memory) row(m *Model, h *live.Holder) row {
	name := fmt.Sprintf("%s (%d)", report.OneLine(h.Process), h.PID)
	if h.Ended {
		name += " ended"
	}
	d, pinned := &h.Spaces[event.DeviceMemory], &h.Spaces[event.PinnedMemory]
	failed := cell{text: short(d.Failed + pinned.Failed)}
	if d.Failed+pinned.Failed > 0 {
		failed.style = bad
	}
	rss := "-"
	if h.Host != nil {
		rss = report.Bytes(h.Host.RSS)
	}
	return row{
		key: fmt.Sprint(h.PID),
		cells: []cell{
			text(name), text(report.Bytes(d.LiveBytes)), text(report.Bytes(d.PeakBytes)), text(short(d.Allocs)), failed,
			text(report.Bytes(pinned.LiveBytes)), text(rss),
		},
		open: p.opens(m, h),
	}
}

// opens shows all that is known of a process's memory.
func (p memory) opens(m *Model, h *live.Holder) func(int) []string {
	return func(int) []string {
		lines := []string{m.paint(bold, fmt.Sprintf("Memory of %s (%d)", report.OneLine(h.Process), h.PID)), ""}
		for i := range h.Spaces {
			s := &h.Spaces[i]
			if !s.Used {
				continue
			}
			lines = append(lines,
				fmt.Sprintf("%-7s %s live in %s, peak %s; %s, %d failed", event.Space(i), report.Bytes(s.LiveBytes),
					report.Plural(s.LiveCount, "allocation"), report.Bytes(s.PeakBytes), report.Plural(s.Allocs, "allocation"),
					s.Failed))
			if s.Untracked > 0 {
				lines = append(lines,
					fmt.Sprintf("        %s not followed: there are too many", report.Plural(s.Untracked, "allocation")))
			}
		}
		if h.Host != nil {
			lines = append(lines,
				fmt.Sprintf("host    %s resident, %s swapped out", report.Bytes(h.Host.RSS), report.Bytes(h.Host.Swap)))
		}
		if len(h.Sites) > 0 {
			lines = append(lines, "", "Where what is live was allocated:")
		}
		for i := range h.Sites {
			lines = append(lines, "  "+siteLine(&h.Sites[i]))
		}
		return lines
	}
}

func siteLine(s *live.Site) string {
	line := fmt.Sprintf("%9s in %s by %s", report.Bytes(s.LiveBytes), report.Plural(s.LiveCount, "block"), s.Op)
	if s.Where != "" {
		line += " at " + report.OneLine(report.ShortName(s.Where, report.NameWidth))
	}
	return line
}

// gpus has a line for each GPU with readings.
func (memory) gpus(p *live.Picture, width int) []string {
	var lines []string
	for i := range p.GPUs {
		g := &p.GPUs[i]
		s := &g.Last
		if s.At == 0 {
			continue
		}
		var parts []string
		say := func(c store.GPUColumn, format string, v ...any) {
			if s.Known(c) {
				parts = append(parts, fmt.Sprintf(format, v...))
			}
		}
		say(store.GPUMem, "%s of %s", report.Bytes(s.MemMB<<20), report.Bytes(s.TotalMB<<20))
		say(store.GPUUtil, "busy %d %%", s.UtilPct)
		say(store.GPUTemp, "%d °C", s.TempC)
		say(store.GPUPower, "%d W", s.PowerMW/1000)
		say(store.GPUClock, "%d MHz", s.ClockMHz)
		if width >= 100 {
			for _, u := range g.Users[:min(len(g.Users), 2)] {
				if u.Known {
					parts = append(parts,
						fmt.Sprintf("%s %s", report.OneLine(cmp.Or(u.Process, fmt.Sprint(u.PID))), report.Bytes(u.Bytes)))
				}
			}
		}
		name := fmt.Sprintf("GPU %d", g.Device.GPU)
		if width >= 100 {
			name += " " + report.OneLine(g.Device.Name)
		}
		lines = append(lines, name+": "+strings.Join(parts, ", "))
	}
	return lines
}

// host is the last reading of the machine.
func (memory) host(p *live.Picture) []string {
	s := p.Host
	if s == nil {
		return nil
	}
	line := fmt.Sprintf("host:  memory %.0f %%, %s free, CPU %.0f %%, load %.1f", s.MemPct,
		report.Bytes(s.MemAvailableMB<<20), s.CPUPct, s.Load)
	if s.SwapMB > 0 {
		line += ", swap " + report.Bytes(s.SwapMB<<20)
	}
	if s.Pressure.Memory >= 1 {
		line += fmt.Sprintf(", %.0f %% short of memory", s.Pressure.Memory)
	}
	return []string{line}
}

func (memory) sorted(list []live.Holder, order int) []live.Holder {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b live.Holder) int {
		d, p := event.DeviceMemory, event.PinnedMemory
		switch order {
		case 1:
			return cmp.Compare(b.Spaces[d].PeakBytes, a.Spaces[d].PeakBytes)
		case 2:
			return cmp.Compare(b.Spaces[d].Failed+b.Spaces[p].Failed, a.Spaces[d].Failed+a.Spaces[p].Failed)
		}
		return 0 // unsorted
	})
	return list
}
