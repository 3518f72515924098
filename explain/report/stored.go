package report

import (
	"fmt"
	"strings"
	"unicode"
)

// stored writes the chains that an earlier Ingero recorded. Such recordings repeat a chain every second: those that
// differ only in numbers are shown once, in the last form.
func (t *text) stored(list []StoredChain) {
	if len(list) == 0 {
		return
	}
	t.line("")
	t.wrap("", t.paint(bold, "Recorded by an earlier Ingero, as it was; below each, what the data supports:"))
	for _, group := range GroupStored(list) {
		t.storedGroup(group)
	}
}

// GroupStored groups chains that differ only in numbers, in the order in which the first of each
// was recorded.
func GroupStored(list []StoredChain) [][]*StoredChain {
	at := map[string]int{}
	var groups [][]*StoredChain
	for i := range list {
		c := &list[i]
		k := strings.Join([]string{c.Node, c.Op, string(c.Severity), wordsOf(c.Summary), c.Supported}, "\x00")
		n, ok := at[k]
		if !ok {
			n = len(groups)
			at[k] = n
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], c)
	}
	return groups
}

func (t *text) storedGroup(group []*StoredChain) {
	last := group[len(group)-1]
	head := "[was " + string(last.Severity) + "] "
	at := clock(last.AtNS, "15:04:05") + " UTC"
	if n := len(group); n > 1 {
		at = fmt.Sprintf("%d times, %s to %s", n, clock(group[0].AtNS, "15:04:05"), at)
	}
	if last.Node != "" {
		at += " on " + last.Node
	}
	t.line("")
	t.wrap(t.paint(dim, head), last.Summary)
	t.wrap("  when   ", at)
	t.wrap("  data   ", last.Supported)
}

// wordsOf returns a summary without its numbers.
func wordsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, s)
}
