package eventtext

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
)

var offKind = kind{
	word: "off", timed: true, parse: doOff,
	format: lines(func(r *Recording) []event.OffCPU { return r.OffCPU }, (*writer).off),
}

func doOff(p *parser, f *fields) {
	t := f.must("thread")
	o := event.OffCPU{Thread: t.Thread, Comm: t.Comm, Dispatch: t.Dispatch}
	o.Start = f.time(t.Thread)
	o.Duration = f.dur("dur")
	f.sum(o.Start, o.Duration)
	if c := f.text("comm"); c != "" {
		o.Comm = c
	}
	o.Dispatch = f.flag("dispatch") || o.Dispatch
	o.Followed = f.flag("followed")
	o.Op = f.op("op")
	if v, ok := f.get("class"); ok {
		if o.Class, ok = event.ClassByName(v); !ok || o.Class >= event.NumClasses {
			f.fail(fmt.Errorf("unknown class %q", v))
		}
	}
	// A preempted or throttled thread was runnable all the time.
	if v, ok := f.get("runq"); ok {
		o.RunQueue = f.duration(v)
	} else if o.Class == event.RunQueue {
		o.RunQueue = o.Duration
	}
	if o.RunQueue > o.Duration {
		f.fail(fmt.Errorf("runq is longer than the interval"))
	}
	o.Syscall = int16(f.int("syscall", 16, -1))
	o.State = uint8(f.uint("state", 8))
	o.Futex = f.uint("futex", 64)
	if v, ok := f.get("holder"); ok {
		if t, ok := p.labels[v]; ok {
			o.Holder = t.TID
		} else {
			o.Holder = uint32(f.number(v, 32))
		}
	}
	o.Inode = f.uint("inode", 64)
	o.Socket = f.socket()
	w := f.thread("waker")
	o.Waker, o.WakerComm = w.Thread, w.Comm
	if c := f.text("waker_comm"); c != "" {
		o.WakerComm = c
	}
	o.WakerFutex = f.uint("waker_futex", 64)
	o.WakerSyscall = int16(f.int("waker_syscall", 16, -1))
	o.OutCPU, o.InCPU = uint16(f.uint("out_cpu", 16)), uint16(f.uint("cpu", 16))
	o.Culprits = f.culprits()
	o.IdleNS = f.dur("idle")
	o.Kernel = f.numbers("kernel")
	p.rec.OffCPU = append(p.rec.OffCPU, o)
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

var totalKind = kind{
	word: "total", timed: true, parse: doTotal,
	format: lines(func(r *Recording) []event.ThreadTime { return r.ThreadTimes }, (*writer).total),
}

func doTotal(p *parser, f *fields) {
	t := f.must("thread")
	v := event.ThreadTime{At: f.time(t.Thread), Thread: t.Thread, Comm: t.Comm, Dispatch: t.Dispatch}
	if c := f.text("comm"); c != "" {
		v.Comm = c
	}
	v.OnCPU = f.dur("on_cpu")
	for c := range event.NumClasses {
		v.NS[c] = f.dur(c.String())
	}
	v.Runtime = f.dur("runtime")
	v.Kernel = f.dur("kernel")
	v.Dispatch = f.flag("dispatch") || v.Dispatch
	v.Followed = f.flag("followed")
	p.rec.ThreadTimes = append(p.rec.ThreadTimes, v)
}

func (w *writer) total(t *event.ThreadTime) {
	w.word("total " + w.when(t.At))
	w.thread("thread", t.Thread)
	w.text("comm", t.Comm)
	w.dur("on_cpu", t.OnCPU)
	w.classes(&t.NS)
	w.dur("runtime", t.Runtime)
	w.dur("kernel", t.Kernel)
	w.flag("dispatch", t.Dispatch)
	w.flag("followed", t.Followed)
}
