package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/store"
)

// Fact is something known about the machine, its GPUs or a program of a side that may differ between the sides.
type Fact struct {
	Of    string  // Host, GPU or Program
	What  string  // for people: "CPUs", "driver"
	Text  string  // its value; empty: not known
	Value float64 // set if it is a mean that varies from run to run
	Least float64 // values that differ by less are equal; 0: Text decides
}

// What facts are about.
const (
	Host    = "host"
	GPU     = "GPU"
	Program = "program"
)

// Change is a fact that differs between the sides.
type Change struct {
	Of   string `json:"of"` // host, GPU, program
	What string `json:"what"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// changes returns the facts that are known of both sides and differ, each once.
func changes(a, b []Fact) []Change {
	list := []Change{}
	for i := range a {
		for j := range b {
			x, y := &a[i], &b[j]
			if x.Of == y.Of && x.What == y.What && x.differs(y) {
				c := Change{Of: x.Of, What: x.What}
				c.A, c.B = differing(x.Text, y.Text)
				if !slices.Contains(list, c) {
					list = append(list, c)
				}
			}
		}
	}
	return list
}

// differing returns the words of two texts between their common begin and end, which "…" stands for: command lines
// are long, and mostly equal. Short texts stay as they are.
func differing(a, b string) (string, string) {
	const short = 40
	x, y := strings.Fields(a), strings.Fields(b)
	if len(a) <= short && len(b) <= short {
		return a, b
	}
	begin, end := 0, 0
	for begin < min(len(x), len(y)) && x[begin] == y[begin] {
		begin++
	}
	for end < min(len(x), len(y))-begin && x[len(x)-1-end] == y[len(y)-1-end] {
		end++
	}
	cut := func(words []string) string {
		out := words[begin : len(words)-end]
		if begin > 0 {
			out = append([]string{"…"}, out...)
		}
		if end > 0 {
			out = append(slices.Clone(out), "…")
		}
		return strings.Join(out, " ")
	}
	return cut(x), cut(y)
}

func (f *Fact) differs(g *Fact) bool {
	if f.Text == "" || g.Text == "" || f.Text == g.Text {
		return false
	}
	least := math.Max(f.Least, g.Least)
	return least == 0 || math.Abs(f.Value-g.Value) >= least
}

// Differences of means below which two runs count as equal: the load and the memory of a machine always differ a
// little, and a GPU's clock moves in steps of 15 MHz.
const (
	leastLoad   = 10   // points of percent of all CPUs
	leastMemory = 0.10 // of the machine's memory
	leastClock  = 0.03 // of the clock
)

// machineFacts returns what a recording says about a machine in a window. The session may be nil.
func machineFacts(in *diagnose.Input, s *store.Session) []Fact {
	list := []Fact{{Of: Host, What: "node", Text: in.Node}}
	exact := func(of, what string, text any) {
		if t := fmt.Sprint(text); t != "" && t != "0" {
			list = append(list, Fact{Of: of, What: what, Text: t})
		}
	}
	exact(Host, "CPUs", in.CPUs)
	exact(Host, "memory, GB", math.Round(float64(in.RAM)/1e9))
	exact(Host, "architecture", in.Arch)
	if s != nil {
		exact(Host, "kernel", s.Kernel)
		exact(Host, "Ingero", s.Version)
	}
	of := in.SettingsOf(0)
	list = append(list, settingFacts(Host, "", of, of)...)
	list = append(list, loadFacts(in)...)
	list = append(list, gpuFacts(in)...)
	return append(list, quotaFacts(in)...)
}

// loadFacts returns the means of the machine's readings in the window.
func loadFacts(in *diagnose.Input) []Fact {
	var busy, steal, free float64
	n := 0.0
	for i := range in.Snapshots {
		if s := &in.Snapshots[i]; in.Window.Contains(s.At) {
			busy, steal, free, n = busy+s.CPUPct, steal+s.StealPct, free+float64(s.MemAvailableMB), n+1
		}
	}
	if n == 0 {
		return nil
	}
	pct := func(what string, v float64) Fact {
		return Fact{Host, what, fmt.Sprintf("%.0f %%", v), v, leastLoad}
	}
	list := []Fact{pct("CPUs busy", busy/n), pct("taken by the hypervisor", steal/n)}
	if in.RAM > 0 {
		gb := free / n * (1 << 20) / 1e9
		list = append(list, Fact{
			Of: Host, What: "memory available", Text: fmt.Sprintf("%.1f GB", gb), Value: gb,
			Least: leastMemory * float64(in.RAM) / 1e9,
		})
	}
	return list
}

// gpuFacts returns the GPUs, their driver, and the means of their readings.
func gpuFacts(in *diagnose.Input) []Fact {
	var list []Fact
	latest := map[int]store.GPUDevice{} // several sessions may have seen a GPU
	for _, d := range in.GPUDevices {
		latest[d.GPU] = d
	}
	models := map[string]int{}
	for _, d := range latest {
		models[d.Name]++
		list = append(list, Fact{Of: GPU, What: "driver", Text: d.Driver})
	}
	var names []string
	for name, n := range models {
		names = append(names, fmt.Sprintf("%d × %s", n, name))
	}
	slices.Sort(names)
	list = append(list, Fact{Of: GPU, What: "GPUs", Text: strings.Join(names, ", ")})
	type mean struct{ clock, n, mem, limit float64 }
	by := map[int]*mean{}
	for i := range in.GPUs {
		g := &in.GPUs[i]
		if !in.Window.Contains(g.At) || !g.Known(store.GPUClock) {
			continue
		}
		m := by[g.GPU]
		if m == nil {
			m = &mean{}
			by[g.GPU] = m
		}
		m.clock, m.mem, m.limit, m.n = m.clock+float64(g.ClockMHz), m.mem+float64(g.MemMB), float64(g.PowerLimitMW), m.n+1
	}
	for gpu, m := range by {
		clock, mem := m.clock/m.n, m.mem/m.n
		at := fmt.Sprintf(" of GPU %d", gpu)
		list = append(list, Fact{GPU, "clock" + at, fmt.Sprintf("%.0f MHz", clock), clock, leastClock * clock},
			Fact{GPU, "memory in use" + at, fmt.Sprintf("%.0f MiB", mem), mem, math.Max(leastMemory*mem, 64)})
		if m.limit > 0 {
			list = append(list, Fact{Of: GPU, What: "power limit" + at, Text: fmt.Sprintf("%.0f W", m.limit/1000)})
		}
	}
	slices.SortStableFunc(list, func(x, y Fact) int { return strings.Compare(x.What, y.What) })
	return list
}

// quotaFacts returns the CPU quotas of control groups, if they were reached.
func quotaFacts(in *diagnose.Input) []Fact {
	allowed := "not reached"
	for i := range in.Throttles {
		if t := &in.Throttles[i]; in.Window.Contains(t.At) && t.PeriodUS > 0 {
			allowed = fmt.Sprintf("%.2f CPUs", float64(t.QuotaUS)/float64(t.PeriodUS))
		}
	}
	return []Fact{{Of: Host, What: "CPU quota", Text: allowed}}
}

// settingFacts returns settings by name. What is set in other settings alone is "not set" in these; nothing is returned
// if one of them was not recorded. suffix is added to the names.
func settingFacts(kind, suffix string, own, other map[string]string) []Fact {
	if own == nil || other == nil {
		return nil
	}
	all := maps.Clone(own)
	maps.Copy(all, other)
	var list []Fact
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, Fact{Of: kind, What: name + suffix, Text: cmp.Or(own[name], "not set")})
	}
	return list
}

// programFacts returns what is known of the program of a thread, which is compared with another one. name is its name
// in the result.
func programFacts(p, other *diagnose.Profile, name string) []Fact {
	of := func(what string) string { return what + " of " + name }
	list := []Fact{
		{Of: Program, What: of("command line"), Text: p.Command},
		{Of: Program, What: of("CPUs allowed"), Text: p.CPUs},
		{Of: Program, What: of("scheduling"), Text: p.Scheduling},
	}
	for i := range p.Libraries {
		l := &p.Libraries[i]
		stem, _, _ := strings.Cut(l.Name, ".so")
		list = append(list, Fact{Of: Program, What: of(stem), Text: version(l)})
	}
	return append(list, settingFacts(Program, of(""), p.Settings, other.Settings)...)
}

// version returns what distinguishes a library's file from another one: its version and the begin of its build id, or
// else its size.
func version(l *store.Library) string {
	const enough = 8 // digits of a build id
	of := l.Version
	if of == "" {
		of = l.Name
	}
	switch {
	case l.BuildID != "":
		return fmt.Sprintf("%s (build %.*s)", of, enough, l.BuildID)
	case l.Size > 0:
		return fmt.Sprintf("%s (%d bytes)", of, l.Size)
	}
	return of
}
