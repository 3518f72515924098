package export

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strconv"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// timeline draws a recording.
type timeline struct {
	*machine
	o    Options
	to   canvas
	rows *rows

	several bool // nodes

	processes map[uint32]*store.Process
	comms     map[event.Thread]string
	drawn     map[event.Thread]bool // declared to the canvas
	begun     map[uint32]bool       // the same of processes

	kernels map[kernelKey]string
	stacks  map[uint64]string
	flows   uint64
	latest  map[streamKey]origin // launches
	kept    int                  // bytes of stacks
}

type kernelKey struct {
	pid  uint32
	addr uint64
}

// streamKey is a stream of a process, or all of its streams.
type streamKey struct {
	pid    uint32
	stream uint64
	all    bool
}

// draw draws the machines one after the other.
func draw(ctx context.Context, src Source, o Options, to canvas) error {
	machines, err := machinesOf(ctx, src)
	if err != nil {
		return err
	}
	defer machines.close()
	n := &rows{tell: o.Progress}
	var flows uint64
	for _, m := range machines {
		t := &timeline{
			machine: m, o: o, to: to, rows: n, several: len(machines) > 1, flows: flows,
			processes: map[uint32]*store.Process{}, comms: map[event.Thread]string{},
			drawn: map[event.Thread]bool{}, begun: map[uint32]bool{},
			kernels: map[kernelKey]string{}, stacks: map[uint64]string{}, latest: map[streamKey]origin{},
		}
		if t.several {
			to.machine(m.name)
		}
		if m.ahead != 0 {
			t.to = &shifted{to, m.ahead}
		}
		if err := t.draw(ctx, machines.findings(m, o.Report)); err != nil {
			return err
		}
		flows = t.flows
	}
	return nil
}

// draw draws a machine: names, calls, waits, counters and findings. What is read in order of time
// is written in this order.
func (t *timeline) draw(ctx context.Context, chains []*report.Chain) error {
	for _, step := range []func(context.Context) error{t.names, t.labels, t.calls, t.waits, t.counters} {
		if err := step(ctx); err != nil {
			return err
		}
		if err := t.to.failed(); err != nil {
			return err
		}
	}
	t.findings(chains)
	return t.to.failed()
}

// names reads the names of processes and threads.
func (t *timeline) names(ctx context.Context) error {
	procs, err := store.List[store.Process](ctx, t.src, store.Window{})
	if err != nil {
		return err
	}
	for i := range procs {
		t.several = t.several || procs[i].Node != procs[0].Node
	}
	for i := range procs {
		t.processes[procs[i].PID] = &procs[i]
	}
	threads, err := store.List[store.ThreadInfo](ctx, t.src, store.Window{})
	if err != nil {
		return err
	}
	for i := range threads {
		t.comms[threads[i].Thread] = threads[i].Comm
	}
	kernels, err := store.List[store.Kernel](ctx, t.src, store.Window{})
	if err != nil {
		return err
	}
	for i := range kernels {
		t.kernels[kernelKey{kernels[i].PID, kernels[i].Func}] = kernels[i].Name
	}
	return nil
}

// thread declares a thread, once, before anything is drawn on its track.
func (t *timeline) thread(th event.Thread, comm string) {
	if t.drawn[th] {
		return
	}
	t.drawn[th] = true
	if c := t.comms[th]; c != "" {
		comm = c
	}
	t.process(th.PID, comm)
	t.to.thread(th, report.Printable(comm))
}

// process declares a process, once; comm is its name if nothing else is known.
func (t *timeline) process(pid uint32, comm string) {
	if t.begun[pid] {
		return
	}
	t.begun[pid] = true
	p := t.processes[pid]
	if p == nil {
		t.to.process(pid, report.Printable(comm), "")
		return
	}
	name := p.Name
	if p.Rank >= 0 {
		name += " rank " + strconv.Itoa(p.Rank)
	}
	if t.several {
		name += " on " + cmp.Or(p.Node, t.name)
	}
	t.to.process(pid, report.Printable(name), report.Printable(p.Command))
}

// calls draws library calls, and arrows from a stream's last launch to the call that waits for the
// stream.
func (t *timeline) calls(ctx context.Context) error {
	var s slice
	var failed error
	err := t.src.Calls(ctx, t.o.Window, func(c *event.Call) bool {
		t.rows.countRow()
		t.thread(c.Thread, "")
		s = slice{
			Thread: c.Thread, start: c.Start, dur: c.Duration, name: c.Op.String(), category: c.Op.Source().String(),
			args: s.args[:0],
		}
		s.args, failed = t.callArgs(ctx, s.args, c)
		t.launches(&s, c)
		t.to.slice(&s)
		return failed == nil && t.to.failed() == nil
	})
	if failed != nil {
		return failed
	}
	return err
}

// launches gives a launch an arrow, and ends it in the call that waits for it.
func (t *timeline) launches(s *slice, c *event.Call) {
	if c.Depth != 0 {
		return
	}
	stream, one := streamOf(c)
	switch c.Op.Role() {
	case event.RoleLaunch:
		t.flows++
		s.flow = t.flows
		from := origin{c.Thread, c.Start, t.flows}
		if len(t.latest) >= keptStreams {
			clear(t.latest)
		}
		t.latest[streamKey{pid: c.PID, stream: stream}] = from
		t.latest[streamKey{pid: c.PID, all: true}] = from
	case event.RoleSync:
		s.from = t.launched(streamKey{pid: c.PID, stream: stream, all: !one})
	}
}

// keptStreams bounds the streams whose last launch is kept.
const keptStreams = 1024

// launched is the last launch that no call has waited for yet.
func (t *timeline) launched(k streamKey) origin {
	from := t.latest[k]
	maps.DeleteFunc(t.latest, func(other streamKey, o origin) bool {
		return other.pid == k.pid && (k.all || o.flow == from.flow)
	})
	return from
}

// streamOf is the stream that a call names, if it names one.
func streamOf(c *event.Call) (handle uint64, ok bool) {
	info := c.Op.Info()
	if info == nil {
		return 0, false
	}
	for i := range info.Args {
		if info.Args[i].Name == "stream" {
			return c.Args[i], true
		}
	}
	return 0, false
}

// callArgs appends the known arguments of a call.
func (t *timeline) callArgs(ctx context.Context, to []arg, c *event.Call) ([]arg, error) {
	to = append(to, arg{name: "id", kind: text, s: fmt.Sprintf("%s:%d", t.node, c.Start)})
	if info := c.Op.Info(); info != nil {
		for i := range info.Args {
			to = namedArgs(to, &info.Args[i], c.Args[i])
		}
	}
	if c.Ret != 0 {
		to = append(to, arg{name: "ret_code", kind: signed, n: uint64(int64(c.Ret))})
	}
	if c.GPU != event.NoGPU {
		to = append(to, arg{name: "gpu_id", n: uint64(c.GPU)})
	}
	if c.Op.LaunchesKernel() {
		if k := t.kernels[kernelKey{c.PID, c.Args[0]}]; k != "" {
			to = append(to, arg{name: "kernel", kind: text, s: report.Printable(k)})
		}
	}
	for class, ns := range c.Ledger.NS {
		if ns > 0 {
			to = append(to, arg{name: event.Class(class).String() + "_ns", n: ns})
		}
	}
	if c.Weight > 1 {
		to = append(to, arg{name: "weight", n: uint64(c.Weight)})
	}
	if c.Stack == 0 {
		return to, nil
	}
	frames, err := t.stack(ctx, c.Stack)
	return append(to, arg{name: "stack", kind: text, s: frames}), err
}

func namedArgs(to []arg, a *event.Arg, v uint64) []arg {
	for i := range a.Fields {
		to = append(to, arg{name: a.Fields[i].Name, n: a.Fields[i].Of(v)})
	}
	if len(a.Fields) > 0 {
		return to
	}
	kind := number
	if a.Unit == event.UnitAddr || a.Unit == event.UnitHandle {
		kind = address
	}
	return append(to, arg{name: a.Name, kind: kind, n: v})
}

// keptBytes bounds the stacks that are kept as text.
const keptBytes = 8 << 20

// stack is a stack as text, a frame a line, innermost first.
func (t *timeline) stack(ctx context.Context, id uint64) (string, error) {
	if s, ok := t.stacks[id]; ok {
		return s, nil
	}
	st, err := t.src.Stack(ctx, id)
	if err != nil {
		return "", err
	}
	var b []byte
	for i := range st.Frames {
		if i > 0 {
			b = append(b, '\n')
		}
		b = append(b, report.Printable(st.Frames[i].String())...)
	}
	if t.kept += len(b); t.kept > keptBytes {
		clear(t.stacks)
		t.kept = len(b)
	}
	t.stacks[id] = string(b)
	return string(b), nil
}

// waits draws off-CPU intervals: the wait, then the run queue, with an arrow from the waker.
func (t *timeline) waits(ctx context.Context) error {
	return t.src.OffCPU(ctx, t.o.Window, func(o *event.OffCPU) bool {
		t.rows.countRow()
		t.thread(o.Thread, o.Comm)
		runq := min(o.RunQueue, o.Duration)
		s := slice{
			Thread: o.Thread, lane: offCPU, start: o.Start, dur: o.Duration - runq, name: o.Class.String(),
			category: "off_cpu", args: waitArgs(o),
		}
		if s.dur > 0 {
			t.to.slice(&s)
		}
		woken := o.Start + o.Duration - runq
		r := slice{
			Thread: o.Thread, lane: offCPU, start: woken, dur: runq, name: event.RunQueue.String(),
			category: "off_cpu", args: queueArgs(o),
		}
		if o.Class == event.Throttled {
			r.name = event.Throttled.String()
		}
		if o.Waker.TID != 0 && o.Class != event.RunQueue && o.Class != event.Throttled {
			t.thread(o.Waker, o.WakerComm)
			t.flows++
			r.from = origin{o.Waker, woken, t.flows}
			t.to.mark(&mark{
				Thread: o.Waker, at: woken, name: "wakes " + report.Printable(o.Comm), category: "wake",
				flow: t.flows,
			})
		}
		if runq > 0 || r.from.flow != 0 {
			t.to.slice(&r)
		}
		return t.to.failed() == nil
	})
}

func waitArgs(o *event.OffCPU) (a []arg) {
	a = append(a, arg{name: "syscall", kind: signed, n: uint64(int64(o.Syscall))})
	if o.Op != 0 {
		a = append(a, arg{name: "in_op", kind: text, s: o.Op.String()})
	}
	if o.Futex != 0 {
		a = append(a, arg{name: "futex", kind: address, n: o.Futex})
	}
	if o.Holder != 0 {
		a = append(a, arg{name: "holder_tid", n: uint64(o.Holder)})
	}
	if o.Inode != 0 {
		a = append(a, arg{name: "inode", n: o.Inode})
	}
	return a
}

func queueArgs(o *event.OffCPU) (a []arg) {
	for i := range o.Culprits {
		c := &o.Culprits[i]
		a = append(a, arg{
			name: fmt.Sprintf("ran_instead_%d", i+1), kind: text,
			s: fmt.Sprintf("%s (pid %d, tid %d) %d ns", report.Printable(c.Comm), c.PID, c.TID, c.NS),
		})
	}
	if o.IdleNS > 0 {
		a = append(a, arg{name: "cpu_idle_ns", n: o.IdleNS})
	}
	return append(a, arg{name: "cpu", n: uint64(o.InCPU)})
}
