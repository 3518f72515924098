package eventtext

import (
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/event"
)

// Format writes a recording as text that Parse reads back to the same value.
func Format(r *Recording) string {
	w := &writer{base: r.Base}
	if r.Base != DefaultBase {
		w.line("base " + formatDuration(r.Base))
	}
	if r.Self != 0 {
		w.line(fmt.Sprintf("self %d", r.Self))
	}
	each(w, r.Processes, w.process)
	each(w, r.Threads, w.label)
	each(w, r.Calls, w.call)
	each(w, r.Gaps, w.gap)
	each(w, r.OffCPU, w.off)
	each(w, r.ThreadTimes, w.total)
	each(w, r.Lives, w.life)
	each(w, r.Throttles, w.throttle)
	each(w, r.Stalls, w.stall)
	each(w, r.GPUs, w.gpu)
	each(w, r.GPUMemory, w.gpuMemory)
	each(w, r.Xids, w.xid)
	each(w, r.Memory, w.memory)
	each(w, r.Sites, w.site)
	each(w, r.Reclaims, w.reclaim)
	each(w, r.InFlight, w.flight)
	each(w, r.Symbols, w.symbol)
	each(w, r.Kernels, w.kernel)
	each(w, r.Limits, w.limit)
	each(w, r.Scheduling, w.sched)
	w.nodes(r.Nodes)
	each(w, r.Devices, w.deviceName)
	each(w, r.Files, w.file)
	each(w, r.Requests, w.requests)
	each(w, r.Connections, w.tcp)
	each(w, r.Pages, w.pages)
	each(w, r.Losses, func(l *event.Loss) { w.word("loss " + l.Kind.String()); w.num("count", l.Count) })
	each(w, r.Stats, w.stat)
	return w.b.String()
}

type writer struct {
	b    strings.Builder
	base uint64
}

func each[T any](w *writer, list []T, f func(*T)) {
	for i := range list {
		f(&list[i])
		w.b.WriteByte('\n')
	}
}

func (w *writer) line(s string) { w.b.WriteString(s + "\n") }
func (w *writer) word(s string) { w.b.WriteString(s) }

func (w *writer) set(key, value string) { w.b.WriteString(" " + key + "=" + value) }

func (w *writer) num(key string, v uint64) {
	if v != 0 {
		w.set(key, fmt.Sprint(v))
	}
}

func (w *writer) hex(key string, v uint64) {
	if v != 0 {
		w.set(key, fmt.Sprintf("%#x", v))
	}
}

func (w *writer) int(key string, v, missing int64) {
	if v != missing {
		w.set(key, fmt.Sprint(v))
	}
}

func (w *writer) dur(key string, ns uint64) {
	if ns != 0 {
		w.set(key, formatDuration(ns))
	}
}

func (w *writer) text(key, v string) {
	if v != "" {
		w.set(key, quote(v))
	}
}

func (w *writer) flag(key string, v bool) {
	if v {
		w.b.WriteString(" " + key)
	}
}

func (w *writer) op(key string, o event.Op) {
	if o != 0 {
		w.set(key, o.String())
	}
}

func (w *writer) thread(key string, t event.Thread) {
	if t != (event.Thread{}) {
		w.set(key, fmt.Sprintf("%d/%d", t.PID, t.TID))
	}
}

func (w *writer) when(at uint64) string {
	if at < w.base {
		return fmt.Sprintf("@%d", at)
	}
	return "+" + formatDuration(at-w.base)
}

func (w *writer) classes(ns *[event.NumClasses]uint64) {
	for c := range event.NumClasses {
		w.dur(c.String(), ns[c])
	}
}

func (w *writer) ledger(l *event.Ledger) {
	w.classes(&l.NS)
	w.num("vol", uint64(l.Voluntary))
	w.num("invol", uint64(l.Involuntary))
}

func (w *writer) process(p *Process) {
	w.word("process " + quote(p.Name))
	w.num("pid", uint64(p.PID))
	w.num("parent", uint64(p.Parent))
	w.text("command", p.Command)
	w.text("cgroup", p.Cgroup)
	w.text("framework", p.Framework)
	w.int("rank", int64(p.Rank), -1)
	w.flag("traced", p.Traced)
}

func (w *writer) label(t *Thread) {
	w.word("thread " + t.Label)
	w.num("pid", uint64(t.PID))
	w.num("tid", uint64(t.TID))
	w.text("comm", t.Comm)
	w.flag("dispatch", t.Dispatch)
}

func (w *writer) call(c *event.Call) {
	w.word("call " + w.when(c.Start))
	w.thread("thread", c.Thread)
	w.op("op", c.Op)
	w.dur("dur", c.Duration)
	w.num("depth", uint64(c.Depth))
	w.int("gpu", int64(c.GPU), event.NoGPU)
	w.int("ret", int64(c.Ret), 0)
	if c.Args != [event.NumArgs]uint64{} {
		w.list("args", c.Args[:])
	}
	w.ledger(&c.Ledger)
	w.hex("stack", c.Stack)
	w.num("weight", uint64(c.Weight))
}

func (w *writer) list(key string, v []uint64) {
	if len(v) == 0 {
		return
	}
	s := make([]string, len(v))
	for i, n := range v {
		s[i] = fmt.Sprint(n)
	}
	w.set(key, strings.Join(s, ","))
}

func (w *writer) gap(g *event.Gap) {
	w.word("gap " + w.when(g.Start))
	w.thread("thread", g.Thread)
	w.dur("dur", g.Duration)
	w.op("next", g.Next)
	w.ledger(&g.Ledger)
}

func (w *writer) off(o *event.OffCPU) {
	w.word("off " + w.when(o.Start))
	w.thread("thread", o.Thread)
	w.dur("dur", o.Duration)
	w.set("class", o.Class.String())
	w.set("runq", formatDuration(o.RunQueue))
	w.text("comm", o.Comm)
	w.flag("dispatch", o.Dispatch)
	w.flag("followed", o.Followed)
	w.op("op", o.Op)
	w.int("syscall", int64(o.Syscall), -1)
	w.num("state", uint64(o.State))
	w.hex("futex", o.Futex)
	w.num("holder", uint64(o.Holder))
	w.num("inode", o.Inode)
	w.socket(&o.Socket)
	w.thread("waker", o.Waker)
	w.text("waker_comm", o.WakerComm)
	w.hex("waker_futex", o.WakerFutex)
	w.int("waker_syscall", int64(o.WakerSyscall), -1)
	w.num("out_cpu", uint64(o.OutCPU))
	w.num("cpu", uint64(o.InCPU))
	for _, c := range o.Culprits {
		w.set("culprit", fmt.Sprintf("%d/%d/%s:%s", c.PID, c.TID, quote(c.Comm), formatDuration(c.NS)))
	}
	w.dur("idle", o.IdleNS)
	w.list("kernel", o.Kernel)
}

func (w *writer) total(t *event.ThreadTime) {
	w.word("total " + w.when(t.At))
	w.thread("thread", t.Thread)
	w.text("comm", t.Comm)
	w.dur("on_cpu", t.OnCPU)
	w.classes(&t.NS)
	w.dur("runtime", t.Runtime)
	w.flag("dispatch", t.Dispatch)
	w.flag("followed", t.Followed)
}

func (w *writer) life(l *event.Life) {
	w.word("life " + w.when(l.At) + " " + l.Kind.String())
	w.thread("thread", l.Thread)
	w.thread("parent", l.Parent)
	w.text("comm", l.Comm)
	w.op("op", l.Op)
	w.dur("dur", l.Duration)
}

func (w *writer) throttle(t *Throttle) {
	w.word("throttle " + w.when(t.At))
	w.text("cgroup", t.Cgroup)
	w.num("periods", t.Periods)
	w.dur("time", t.NS)
	w.dur("quota", t.Quota)
	w.dur("period", t.Period)
	w.num("version", uint64(t.Version))
}

func (w *writer) stall(s *event.Stall) {
	w.word("stall " + w.when(s.Start))
	w.dur("dur", s.Duration)
	w.num("cpu", uint64(s.CPU))
}

func (w *writer) stat(s *Stat) {
	w.word("stat")
	w.thread("thread", s.Thread)
	w.op("op", s.Op)
	w.num("calls", s.Calls)
	w.num("errors", s.Errors)
	w.dur("sum", s.SumNS)
	w.dur("max", s.MaxNS)
	w.num("bytes", s.Bytes)
	if s.First != 0 {
		w.set("first", w.when(s.First))
	}
	if s.Last != 0 {
		w.set("last", w.when(s.Last))
	}
	w.ledger(&s.Ledger)
	if len(s.Durations) > 0 {
		c := make([]string, len(s.Durations))
		for i, d := range s.Durations {
			c[i] = fmt.Sprintf("%s*%d", formatDuration(d.NS), d.N)
		}
		w.set("durations", strings.Join(c, ","))
	}
}
