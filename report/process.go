package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ingero-io/ingero/event"
)

// Count writes a number with commas between thousands.
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
	t.line(t.paint(bold, head))
	name, calls := 0, 0
	for _, o := range p.Ops {
		name, calls = max(name, len(o.Op)), max(calls, len(Count(o.Calls)))
	}
	for _, o := range p.Ops {
		line := fmt.Sprintf("  %-*s | %*s calls | p50=%-7s | p99=%-7s", name, o.Op, calls, Count(o.Calls), compact(o.P50NS), compact(o.P99NS))
		if o.Bytes > 0 {
			line += " | total: " + Bytes(o.Bytes) + " " + moved(o.Op)
		}
		if o.Errors > 0 {
			line += " | " + t.paint(red, plural(o.Errors, "error"))
		}
		t.line(line)
	}
	for _, w := range p.warnings() {
		t.wrap("  "+t.paint(yellow, "⚠")+" ", w)
	}
}

// compact writes a duration without a space: 65µs.
func compact(ns uint64) string {
	return strings.Replace(strings.Replace(Duration(ns), " ", "", 1), "us", "µs", 1)
}

// Bytes words a number of bytes in powers of ten: 406 GB.
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

// moved says what an operation did with its bytes.
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

// families are the allocating operations and the one that frees what they
// return. Driver calls are left out: the runtime makes them.
var families = []struct {
	allocs []string
	free   string
}{
	{[]string{"cudaMalloc", "cudaMallocManaged"}, "cudaFree"},
	{[]string{"cudaMallocAsync"}, "cudaFreeAsync"},
	{[]string{"cudaMallocHost", "cudaHostAlloc"}, "cudaFreeHost"},
}

// What stands out: as many allocations more than frees, and a tail as much
// longer than the median.
const (
	minUnfreed = 100
	minTail    = 10
	minTailNS  = 100_000
)

func (p *Process) warnings() []string {
	by := map[string]*Op{}
	for i := range p.Ops {
		by[p.Ops[i].Op] = &p.Ops[i]
	}
	var w []string
	for _, f := range families {
		var allocs, frees uint64
		for _, a := range f.allocs {
			if o := by[a]; o != nil {
				allocs += o.Calls - min(o.Errors, o.Calls)
			}
		}
		if o := by[f.free]; o != nil {
			frees = o.Calls
		}
		if allocs > frees && allocs-frees >= minUnfreed {
			w = append(w, fmt.Sprintf("malloc/free imbalance: %s allocations without corresponding %s", Count(allocs-frees), f.free))
		}
	}
	for i := range p.Ops {
		o := &p.Ops[i]
		info, ok := event.ByName(o.Op)
		if !ok || info.Role != event.RoleAlloc || o.P50NS == 0 || o.P99NS < minTailNS || o.P99NS/o.P50NS < minTail {
			continue
		}
		w = append(w, fmt.Sprintf("%s p99 (%s) is %dx p50 (%s)", o.Op, compact(o.P99NS), o.P99NS/o.P50NS, compact(o.P50NS)))
	}
	return w
}
