package tui

import (
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/tui/live"
)

// segment is a part of a bar.
type segment struct {
	look
	ns uint64
}

// segments splits a span into the parts of its bar.
func segments(s *live.Span) []segment {
	var list []segment
	for i := range looks {
		if ns := s.Of(looks[i].class); ns > 0 {
			list = append(list, segment{looks[i].look(), ns})
		}
	}
	if s.Unaccounted > 0 {
		list = append(list, segment{unaccounted, s.Unaccounted})
	}
	return list
}

// bar draws segments in so many columns. Each is filled with its letter or, where there
// are colours, begins with it.
func (m *Model) bar(list []segment, width int) string {
	var b strings.Builder
	for i, n := range shares(list, width) {
		if n == 0 {
			continue
		}
		s := &list[i]
		if m.o.Colour && s.letter != unaccounted.letter {
			b.WriteString(m.paint(s.style, string(s.letter)+strings.Repeat(" ", n-1)))
		} else {
			b.WriteString(m.paint(s.style, strings.Repeat(string(s.letter), n)))
		}
	}
	if b.Len() == 0 {
		return strings.Repeat(" ", width)
	}
	return b.String()
}

// shares distributes columns to segments by their size. Columns left over by rounding go to those
// with the largest remainders.
func shares(list []segment, width int) []int {
	var sum uint64
	for i := range list {
		sum += list[i].ns
	}
	n := make([]int, len(list))
	if sum == 0 {
		return n
	}
	left := width
	rest := make([]float64, len(list))
	for i := range list {
		exact := float64(list[i].ns) / float64(sum) * float64(width)
		n[i] = min(int(exact), left)
		rest[i] = exact - float64(n[i])
		left -= n[i]
	}
	for ; left > 0; left-- {
		most := 0
		for i := range rest {
			if rest[i] > rest[most] {
				most = i
			}
		}
		n[most]++
		rest[most]--
	}
	return n
}

// legend explains the letters in use, in as many lines as needed.
func (m *Model) legend(used map[byte]bool, width int) []string {
	var lines []string
	line, n := "", 0
	for _, l := range append(classLooks(), unaccounted) {
		if !used[l.letter] {
			continue
		}
		w := 1 + 1 + len(l.word)
		if n > 0 && n+2+w > width {
			lines = append(lines, line)
			line, n = "", 0
		}
		if n > 0 {
			line, n = line+"  ", n+2
		}
		line, n = line+m.paint(l.style, string(l.letter))+" "+l.word, n+w
	}
	if n > 0 {
		lines = append(lines, line)
	}
	return lines
}

func classLooks() []look {
	var list []look
	for i := range looks {
		list = append(list, looks[i].look())
	}
	return list
}

// mostLost is the class to which a thread lost most of a time, and how much.
func mostLost(class *[event.NumClasses]uint64) (event.Class, uint64) {
	var lost [event.NumClasses]uint64
	for i, ns := range class {
		var one event.Ledger
		one.NS[i] = ns
		lost[i] = store.WaitNS(&one)
	}
	return most(&lost)
}

// most is the off-CPU class with most of a time, and how much.
func most(class *[event.NumClasses]uint64) (event.Class, uint64) {
	c, ns := event.Class(0), uint64(0)
	for i, v := range class {
		if v > ns {
			c, ns = event.Class(i), v
		}
	}
	return c, ns
}
