package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
)

// Which growth is reported as a leak. The first quarter of the recorded time of a process is left
// out: caches fill then, and models are loaded.
const (
	leakRows   = 8
	leakSpan   = 6e9       // ns, from the first record to the last
	leakBytes  = 1_000_000 // least growth in bytes
	leakCount  = minSample // least growth in allocations that were not freed
	leakSteady = 0.5       // least rate of the second half, as a share of that of the first
	launchEach = 2         // least launches for each such allocation: a program that only loads makes none
	loadFaster = 5         // times the leak's rate: growth faster than this is loading
	maxLeakRow = 300       // records used for the rate

	// MEDIUM rather than LOW: if it grows so fast, or the memory will be used up so soon.
	leakFast = 100e6 / 60e9 // bytes per ns: 100 MB a minute
	leakSoon = 3600e9       // ns
)

// growth is memory of a process that is not freed. It loses no time, so it is not a finding of a
// thread, and is reported whatever share of the time it concerns.
type growth struct {
	*heap
	since uint64  // Unix ns from when on it grew
	rate  float64 // bytes per ns
	bytes uint64  // growth since then
	count uint64
	site  event.MemorySite // the call site that grew most, as it is at the end
	from  uint64           // bytes of the growth that come from that site
	left  uint64           // ns until the memory is used up, 0 if unknown
}

// growths finds the growing heaps, the fastest first.
func (ev *evidence) growths() []growth {
	var list []growth
	for _, h := range ev.heaps.list {
		if g, ok := ev.growth(h); ok {
			list = append(list, g)
		}
	}
	slices.SortStableFunc(list, func(a, b growth) int { return cmp.Compare(b.rate, a.rate) })
	return list
}

func (ev *evidence) growth(h *heap) (growth, bool) {
	g := growth{heap: h}
	if len(h.rows) < leakRows {
		return g, false
	}
	first, last := &h.rows[0], &h.rows[len(h.rows)-1]
	if last.At-first.At < leakSpan {
		return g, false
	}
	warm := h.rows[slices.IndexFunc(h.rows, func(m event.Memory) bool { return m.At >= first.At+(last.At-first.At)/4 }):]
	if !steady(warm) || last.LiveBytes < warm[0].LiveBytes+leakBytes || last.LiveCount < warm[0].LiveCount+leakCount {
		return g, false
	}
	if g.rate = slope(warm); g.rate <= 0 {
		return g, false
	}
	g.onset(warm[0].At)
	if !ev.evident(&g, warm) {
		return g, false
	}
	g.places()
	if all := ev.heaps.capacity(h.space); all > last.LiveBytes {
		g.left = uint64(float64(all-last.LiveBytes) / g.rate)
	}
	return g, true
}

// steady reports whether memory rises all the time: the minimum of live memory is higher in each
// third, by bytes and by count, and the rise does not level off like that of a cache.
func steady(rows []event.Memory) bool {
	from := rows[0].At
	third := (rows[len(rows)-1].At-from)/3 + 1
	var bytes, count [3]uint64
	var seen [3]bool
	for i := range rows {
		m := &rows[i]
		n := min((m.At-from)/third, 2)
		if !seen[n] || m.LiveBytes < bytes[n] {
			bytes[n] = m.LiveBytes
		}
		if !seen[n] || m.LiveCount < count[n] {
			count[n] = m.LiveCount
		}
		seen[n] = true
	}
	for n := range 2 {
		if !seen[n+1] || bytes[n+1] <= bytes[n] || count[n+1] <= count[n] {
			return false
		}
	}
	half := len(rows) / 2
	return slope(rows[half:]) >= leakSteady*slope(rows[:half+1])
}

// slope returns the Theil–Sen estimate of how fast live memory rises, in bytes per ns:
// the median over all pairs, which single jumps do not move.
func slope(rows []event.Memory) float64 {
	step := (len(rows) + maxLeakRow - 1) / maxLeakRow
	var slopes []float64
	for i := 0; i < len(rows); i += step {
		for j := i + step; j < len(rows); j += step {
			if dt := rows[j].At - rows[i].At; dt > 0 {
				slopes = append(slopes, (float64(rows[j].LiveBytes)-float64(rows[i].LiveBytes))/float64(dt))
			}
		}
	}
	return stats.Middle(slopes)
}

// onset finds since when memory grew. It goes back from the end to where memory last stayed on a
// level, give or take a twentieth of the growth. Memory that grew much faster, before warm, was
// loading.
func (g *growth) onset(warm uint64) {
	last, start := &g.rows[len(g.rows)-1], len(g.rows)-1
	for i := start; i >= 0; i-- {
		m, low := &g.rows[i], &g.rows[start]
		dt := low.At - m.At
		if dt > (last.At-g.rows[0].At)/4 {
			break
		}
		if m.LiveBytes+(last.LiveBytes-min(low.LiveBytes, last.LiveBytes))/20 >= low.LiveBytes {
			continue
		}
		if m.At < warm && float64(low.LiveBytes-m.LiveBytes) > loadFaster*g.rate*float64(dt) {
			break
		}
		start = i
	}
	at := &g.rows[start]
	g.since, g.bytes = at.At, last.LiveBytes-min(at.LiveBytes, last.LiveBytes)
	g.count = last.LiveCount - min(at.LiveCount, last.LiveCount)
}

// evident reports whether the growth is certain although records were dropped, and happens while
// the process works: a program that only loads launches next to nothing.
func (ev *evidence) evident(g *growth, warm []event.Memory) bool {
	var frees uint64
	for i := range g.rows {
		frees += g.rows[i].Frees
	}
	if ev.missing*float64(frees) > float64(g.count)/10 {
		return false
	}
	var launches, first, last uint64
	for i := range ev.in.Ops {
		st := &ev.in.Ops[i]
		if st.PID != g.pid || st.Op.Role() != event.RoleLaunch {
			continue
		}
		launches = max(launches, st.Calls) // a runtime call nests one of the driver
		if first == 0 || st.First < first {
			first = st.First
		}
		last = max(last, st.Last)
	}
	from, to := warm[0].At, warm[len(warm)-1].At
	worked := min(last, to) - min(max(first, from), min(last, to))
	return launches >= launchEach*g.count && worked >= (to-from)*3/4
}

// places finds the call site that grew most since the onset.
func (g *growth) places() {
	type place struct {
		op    event.Op
		stack uint64
	}
	before, now := map[place]uint64{}, map[place]event.MemorySite{}
	for _, m := range g.sites {
		k := place{m.Op, m.Stack}
		if m.At <= g.since {
			before[k] = m.LiveBytes
		}
		now[k] = m
	}
	for k, m := range now {
		by := m.LiveBytes - min(before[k], m.LiveBytes)
		if c := cmp.Or(cmp.Compare(by, g.from), cmp.Compare(m.Op, g.site.Op), cmp.Compare(m.Stack, g.site.Stack)); by > 0 &&
			c > 0 {
			g.site, g.from = m, by
		}
	}
	g.from = min(g.from, g.bytes)
}

// capacity returns how much memory of the space there is, bytes; 0 if unknown.
func (as *allocations) capacity(space event.Space) uint64 {
	if space == event.PinnedMemory {
		return as.in.RAM
	}
	return 0
}
