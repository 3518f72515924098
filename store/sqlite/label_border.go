package sqlite

import (
	"slices"

	"github.com/ingero-io/ingero/event"
)

// part is a time whose calls may share a row: within a second, and between two borders of labels. So
// sums by seconds and by labels stay exact. Half-open, Unix ns; the zero value has no call.
type part struct{ from, to uint64 }

func (p part) has(at uint64) bool { return at >= p.from && at < p.to }

// borders are the latest times at which labels of a process begin or end, in order.
type borders []uint64

// maxBorders bounds the borders of a process. Calls that return so late that theirs is forgotten took
// long, and share no row.
const maxBorders = 8192

// add adds a border.
func (b borders) add(at uint64) borders {
	i, ok := slices.BinarySearch(b, at)
	if ok {
		return b
	}
	if len(b) >= maxBorders {
		b = slices.Delete(b, 0, maxBorders/2)
		i = max(i-maxBorders/2, 0)
	}
	return slices.Insert(b, i, at)
}

// around is the part of p between the borders around a time in it.
func (b borders) around(p part, at uint64) part {
	i, _ := slices.BinarySearch(b, at+1) // the first one behind it
	if i < len(b) {
		p.to = min(p.to, b[i])
	}
	if i > 0 {
		p.from = max(p.from, b[i-1])
	}
	return p
}

// maxLabelled bounds the processes whose borders are kept.
const maxLabelled = 2048

// divide notes the borders of labels before the calls of their batch are counted, and closes the groups
// of the processes: one that goes on could hold calls on both sides.
func (w *Writer) divide(list []event.Label) {
	if len(list) == 0 {
		return
	}
	if len(w.borders) >= maxLabelled {
		clear(w.borders) // sums by labels of the last second are estimates
	}
	var pids []uint32
	for i := range list {
		l := &list[i]
		b := w.borders[l.PID].add(l.Since)
		if l.Until != 0 {
			b = b.add(l.Until)
		}
		w.borders[l.PID] = b
		if !slices.Contains(pids, l.PID) {
			pids = append(pids, l.PID)
		}
	}
	for _, s := range w.series {
		if slices.Contains(pids, s.id.PID) {
			w.closeGroup(s)
			s.part = part{}
		}
	}
}

// partOf is the part of a process's time that has a call.
func (w *Writer) partOf(pid uint32, start uint64) part {
	from := start / second * second
	p := part{from, from + second}
	if b := w.borders[pid]; b != nil {
		p = b.around(p, start)
	}
	return p
}
