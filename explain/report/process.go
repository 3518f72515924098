package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ingero-io/ingero/event"
)

// Count formats a number with commas between thousands.
func Count(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// process writes a line for each operation, and what stands out in them.
func (t *text) process(p *Process) {
	t.line("")
	head := fmt.Sprintf("Process: %s (PID %d)", p.Process, p.PID)
	if p.Rank != nil {
		head += fmt.Sprintf(", rank %d", *p.Rank)
	}
	if p.Framework != "" {
		head += ", " + p.Framework
	}
	t.line(t.paint(bold, head))
	if p.Owner != nil && p.Owner.Text != "" {
		t.wrap("  of     ", p.Owner.Text)
	}
	name, calls := 0, 0
	for _, o := range p.Ops {
		name, calls = max(name, len(o.Op)), max(calls, len(Count(o.Calls)))
	}
	for _, o := range p.Ops {
		line := fmt.Sprintf("  %-*s | %*s calls | p50=%-7s | p99=%-7s", name, o.Op, calls, Count(o.Calls), Compact(o.P50NS),
			Compact(o.P99NS))
		if o.Bytes > 0 {
			line += " | total: " + Bytes(o.Bytes) + " " + moved(o.Op)
		}
		if o.Errors > 0 {
			line += " | " + t.paint(red, Plural(o.Errors, "error"))
		}
		t.line(line)
	}
	if m := p.Memory; m != nil {
		t.wrap("  memory ", m.words())
	}
	for _, w := range p.Warnings {
		t.wrap("  "+t.paint(yellow, "⚠")+" ", w)
	}
}

// words describes the device memory of a process.
func (m *Memory) words() string {
	w := fmt.Sprintf("%s live in %s, peak %s; %s in %s, %s", Bytes(m.LiveBytes), Plural(m.LiveCount, "allocation"),
		Bytes(m.PeakBytes),
		Bytes(m.Bytes)+" allocated", Plural(m.Allocs, "call"), Plural(m.Frees, "free"))
	if m.Failed > 0 {
		w += fmt.Sprintf(", %s failed", Plural(m.Failed, "call"))
	}
	return w
}

// Compact formats a duration without a space: 65µs.
func Compact(ns uint64) string {
	return strings.Replace(strings.Replace(Duration(ns), " ", "", 1), "us", "µs", 1)
}

// Bytes formats a number of bytes in powers of ten: 406 GB.
func Bytes(n uint64) string {
	for _, u := range []struct {
		name string
		n    float64
	}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if v := float64(n) / u.n; v >= 0.9995 {
			return digits3(v) + " " + u.name
		}
	}
	return strconv.FormatUint(n, 10) + " B"
}

// moved describes what an operation did with its bytes.
func moved(op string) string {
	info, ok := event.ByName(op)
	switch {
	case ok && info.Role == event.RoleAlloc:
		return "allocated"
	case ok && info.Role == event.RoleFree:
		return "freed"
	}
	return "copied"
}
