package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// causeMisplaced takes no time of a thread: all that the process does is a little slower, and nothing shows how much.
// It is not in the list causes.
var causeMisplaced = cause{kind: event.CauseNUMAMisplacement, lossless: true}

// When a thread counts as running on the wrong memory node.
const (
	minWakeUps   = 20  // recorded wake-ups of a thread, which show where it runs
	minElsewhere = 0.9 // least share of them on CPUs of other nodes than its GPU's
)

// misplaced is a process whose threads give a GPU its work from CPUs of other memory nodes.
type misplaced struct {
	*subject          // the thread with most wake-ups there
	gpu      gpuPlace // where its GPU is
	cpus     map[uint16]bool
	nodes    map[int]bool // memory nodes of these CPUs
	wakeUps  int
	there    int      // wake-ups on these CPUs
	tids     []string // all threads of the process that are misplaced
}

// gpuPlace is the memory node of all GPUs that a process may use.
type gpuPlace struct {
	node int
	cpus []uint16 // of the node
	gpus []int    // by NVML's index
	held bool     // the process has memory on them; otherwise they are all GPUs of the machine
}

// misplacements returns a chain for each process that runs on CPUs of other memory nodes than its GPU's.
func (ev *evidence) misplacements() []report.Chain {
	nodes := ev.cpuNodes()
	if len(nodes) == 0 {
		return nil
	}
	by := map[uint32]*misplaced{}
	var pids []uint32 // in the order of subjects
	for _, t := range ev.subjects {
		m, ok := ev.misplacement(t, nodes)
		switch o := by[t.PID]; {
		case !ok:
		case o == nil:
			by[t.PID] = m
			pids = append(pids, t.PID)
		case m.there > o.there:
			m.tids = append(o.tids, m.tids...)
			by[t.PID] = m
		default:
			o.tids = append(o.tids, m.tids...)
		}
	}
	var chains []report.Chain
	for _, pid := range pids {
		chains = append(chains, by[pid].chain(ev))
	}
	return chains
}

// cpuNodes returns the memory nodes of CPUs; empty if only one node has CPUs.
func (ev *evidence) cpuNodes() map[uint16]int {
	of, some := map[uint16]int{}, map[int]bool{}
	for node, list := range ev.in.Nodes {
		for _, cpu := range parseCPUs(list) {
			of[cpu], some[node] = node, true
		}
	}
	if len(some) < 2 {
		return nil
	}
	return of
}

// misplacement counts where a thread ran again after each recorded wait. A CPU of an unknown node counts as one of
// the right node.
func (ev *evidence) misplacement(t *subject, nodes map[uint16]int) (*misplaced, bool) {
	if !ev.procs.workers[t.Thread] {
		return nil, false
	}
	at, ok := ev.placeOfGPUs(t.PID)
	if !ok {
		return nil, false
	}
	m := &misplaced{
		subject: t, gpu: at, cpus: map[uint16]bool{}, nodes: map[int]bool{}, tids: []string{itoa(t.TID)},
	}
	for _, o := range ev.procs.x.Overlapping(t.TID, t.from, t.to) {
		if o.Thread != t.Thread {
			continue
		}
		m.wakeUps++
		if node, known := nodes[o.InCPU]; known && node != at.node {
			m.there++
			m.cpus[o.InCPU], m.nodes[node] = true, true
		}
	}
	return m, m.wakeUps >= minWakeUps && float64(m.there) >= minElsewhere*float64(m.wakeUps)
}

// placeOfGPUs returns the place of the GPUs on which a process has memory; if the driver does not say, that of all
// GPUs of the machine. It returns false unless all are known to be at one node that has CPUs.
func (ev *evidence) placeOfGPUs(pid uint32) (gpuPlace, bool) {
	nodes := map[int]int{}
	for _, d := range ev.in.GPUDevices {
		nodes[d.GPU] = d.Node
	}
	p := gpuPlace{node: -1, gpus: slices.Sorted(slices.Values(ev.gpus.holds[pid]))}
	if p.held = len(p.gpus) > 0; !p.held {
		p.gpus = slices.Sorted(maps.Keys(nodes))
	}
	for _, gpu := range p.gpus {
		node, known := nodes[gpu]
		if !known || node < 0 || p.node >= 0 && node != p.node {
			return p, false
		}
		p.node = node
	}
	if p.node < 0 || p.node >= len(ev.in.Nodes) {
		return p, false
	}
	p.cpus = parseCPUs(ev.in.Nodes[p.node])
	return p, len(p.cpus) > 0
}

// words names these GPUs, as the subject of a sentence.
func (p *gpuPlace) words() string {
	switch {
	case len(p.gpus) == 1 && p.held:
		return fmt.Sprintf("GPU %d, of whose memory it has some, is", p.gpus[0])
	case len(p.gpus) == 1:
		return fmt.Sprintf("GPU %d, the only one, is", p.gpus[0])
	case p.held:
		return fmt.Sprintf("GPUs %s, of whose memory it has some, are", listed(p.gpus))
	}
	return fmt.Sprintf("GPUs %s, all there are, are", listed(p.gpus))
}

// listed formats numbers as 0, 1, 4.
func listed(numbers []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ", "), "[]")
}

// chain describes the process. It loses no time that could be summed, so its severity is LOW.
func (m *misplaced) chain(ev *evidence) report.Chain {
	e, kind := m.effect(ev), event.CauseNUMAMisplacement
	c := ev.newChain(kind, fmt.Sprintf("%s|%d|%d", kind, m.PID, m.gpu.node), event.SeverityLow, e)
	c.Evidence.Sample = m.there
	cpus, node := cpuList(m.cpus), "node "+listed(slices.Sorted(maps.Keys(m.nodes)))
	whose := "its GPU is"
	if len(m.gpu.gpus) > 1 {
		whose = "its GPUs are"
	}
	c.Summary = fmt.Sprintf("%s runs on CPU %s of memory %s, and %s on node %d: %s of %s wake-ups of its dispatching "+
		"thread",
		e.Process, cpus, node, whose, m.gpu.node, report.Count(uint64(m.there)), report.Count(uint64(m.wakeUps)))
	c.Cause.Detail = fmt.Sprintf("%s attached to node %d (CPU %s), and the thread ran on CPU %s of %s after %s of its %s "+
		"recorded waits", m.gpu.words(), m.gpu.node, numbers(m.gpu.cpus), cpus, node,
		report.Count(uint64(m.there)), report.Count(uint64(m.wakeUps)))
	if others := len(m.tids) - 1; others > 0 {
		c.Cause.Detail += fmt.Sprintf("; so did %s of the process", plural(others, "other thread", "other threads"))
	}
	c.Cause.Detail += "; the cost is unknown: everything that it does with the GPU goes from one memory node to the " +
		"other, so there are no other calls to compare with, and no time is counted as lost"
	c.Recommendations = m.fixes(ev)
	ns, _ := ev.procs.onCPU(m.Thread, m.from, m.to)
	c.Path = []report.Step{{
		Layer: "HOST", Process: e.Process, PID: m.PID, TID: m.TID, Thread: e.Thread, State: "running",
		On: fmt.Sprintf("CPU %s of memory %s", cpus, node), NS: ns,
	}}
	c.Owners = ev.procs.owners(&c)
	return c
}

// effect describes the operation that the thread calls most of those that give a GPU work.
func (m *misplaced) effect(ev *evidence) report.Effect {
	e := report.Effect{
		Op: betweenCalls, Process: ev.procs.name(m.PID, ""), PID: m.PID, TID: m.TID, Thread: ev.procs.comm(m.Thread),
	}
	work := slices.DeleteFunc(slices.Clone(m.ops), func(o *store.OpStat) bool { return !isWork(o.Op.Role()) })
	if len(work) == 0 {
		return e
	}
	most := slices.MaxFunc(work, func(a, b *store.OpStat) int {
		return cmp.Or(cmp.Compare(a.Calls, b.Calls), cmp.Compare(b.Op, a.Op))
	})
	e.Op, e.Calls, e.MaxNS = most.Op.String(), most.Calls, most.MaxNS
	quantiles(&e, most.Hist)
	return e
}

// fixes recommends how to bind the process to its GPU's node.
func (m *misplaced) fixes(ev *evidence) []string {
	list := []string{
		fmt.Sprintf("start %s on the node of its GPU, and compare what a step takes: "+
			"numactl --cpunodebind=%d --membind=%[2]d COMMAND", ev.procs.name(m.PID, ""), m.gpu.node),
		m.move(ev),
	}
	may := ev.host.allowed(m.Thread)
	if len(may) > 0 && !slices.ContainsFunc(may, func(c uint16) bool { return slices.Contains(m.gpu.cpus, c) }) {
		list = append(list, fmt.Sprintf("its affinity is CPU %s, none of node %d: see who sets it (numactl or taskset at "+
			"its start, cpuset.cpus of its control group)", numbers(may), m.gpu.node))
	}
	return list
}

// move recommends how to move the threads while they run, to CPUs there with room that no launching thread needs.
// Other threads of the process stay: there may be too few CPUs for all of them.
func (m *misplaced) move(ev *evidence) string {
	need, busy := ev.reserve(), ev.busyCPUs()
	free := slices.DeleteFunc(slices.Clone(m.gpu.cpus), func(c uint16) bool { return need[c] || busy[c] })
	switch to := numbers(free); {
	case len(free) < len(m.tids):
		return fmt.Sprintf("first make room on node %d, for %s: of its CPUs (%s), %d of %d have room and are not needed "+
			"by a launching thread", m.gpu.node, plural(len(m.tids), "thread", "threads"), numbers(m.gpu.cpus),
			len(free), len(m.gpu.cpus))
	case len(m.tids) == 1:
		return fmt.Sprintf("or move its thread while it runs, without the memory that it has: taskset -cp %s %s", to,
			m.tids[0])
	default:
		return fmt.Sprintf("or move its threads while they run, without the memory that they have: "+
			"for t in %s; do taskset -cp %s $t; done", strings.Join(m.tids, " "), to)
	}
}
