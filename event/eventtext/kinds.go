package eventtext

import (
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/event"
)

// kinds says what each kind of line does.
var kinds = map[string]func(*parser, *fields){
	"base": doBase, "self": doSelf, "process": doProcess, "thread": doThread, "skip": doSkip,
	"call": doCall, "gap": doGap, "off": doOff, "total": doTotal,
	"life": doLife, "throttle": doThrottle, "stall": doStall, "gpu": doGPU, "loss": doLoss, "stat": doStat,
	"memory": doMemory, "site": doSite,
	"reclaim": doReclaim, "symbol": doSymbol, "kernel": doKernel, "limit": doLimit, "sched": doSched, "nodes": doNodes, "flight": doFlight,
	"device": doDevice, "file": doFile, "requests": doRequests, "tcp": doTCP, "pages": doPages,
	"gpu_memory": doGPUMemory, "xid": doXid,
}

// timed are the kinds whose second word is a time, named those with a name.
var (
	timed = map[string]bool{"call": true, "gap": true, "off": true, "total": true, "life": true, "throttle": true, "stall": true, "gpu": true, "memory": true, "site": true, "reclaim": true, "requests": true, "tcp": true, "flight": true, "pages": true, "gpu_memory": true, "xid": true}
	named = map[string]bool{"base": true, "self": true, "process": true, "thread": true, "life": true, "loss": true, "symbol": true, "kernel": true, "device": true, "file": true}
)

func doBase(p *parser, f *fields) { p.rec.Base = f.duration(f.name) }

func doSelf(p *parser, f *fields) { p.rec.Self = uint32(f.number(f.name, 32)) }

func doProcess(p *parser, f *fields) {
	name, err := unquote(f.name)
	f.fail(err)
	p.rec.Processes = append(p.rec.Processes, Process{
		Name: name, PID: uint32(f.uint("pid", 32)), Parent: uint32(f.uint("parent", 32)),
		Command: f.text("command"), Cgroup: f.text("cgroup"), Framework: f.text("framework"),
		Rank: int(f.int("rank", 32, -1)), Traced: f.flag("traced"),
	})
}

func doThread(p *parser, f *fields) {
	t := Thread{Label: f.name}
	if strings.ContainsAny(f.name, "/:\"") {
		f.fail(fmt.Errorf("bad label %q", f.name))
	}
	t.TID = uint32(f.uint("tid", 32))
	t.PID = uint32(f.uint("pid", 32))
	t.Comm = f.text("comm")
	t.Dispatch = f.flag("dispatch")
	if _, ok := p.labels[t.Label]; ok {
		f.fail(fmt.Errorf("thread %q is there twice", t.Label))
	}
	p.labels[t.Label] = t
	p.rec.Threads = append(p.rec.Threads, t)
}

// doSkip moves a thread's cursor over time that leaves no record.
func doSkip(p *parser, f *fields) {
	t := f.must("thread").Thread
	f.when = "."
	p.cursor[t] = f.sum(f.time(t), f.dur("dur"))
}

func doCall(p *parser, f *fields) {
	c := event.Call{Thread: f.must("thread").Thread}
	c.Start = f.time(c.Thread)
	c.Duration = f.dur("dur")
	c.Op = f.op("op")
	c.Depth = uint8(f.uint("depth", 8))
	c.GPU = int8(f.int("gpu", 8, event.NoGPU))
	c.Ret = int32(f.int("ret", 32, 0))
	args := f.numbers("args")
	if len(args) > event.NumArgs {
		f.fail(fmt.Errorf("more than %d args", event.NumArgs))
	}
	copy(c.Args[:], args)
	c.Ledger = f.ledger()
	c.Stack = f.uint("stack", 64)
	c.Weight = uint32(f.uint("weight", 32))
	end := f.sum(c.Start, c.Duration)
	if c.Depth == 0 {
		p.cursor[c.Thread] = end
	}
	p.rec.Calls = append(p.rec.Calls, c)
}

func doGap(p *parser, f *fields) {
	g := event.Gap{Thread: f.must("thread").Thread}
	g.Start = f.time(g.Thread)
	g.Duration = f.dur("dur")
	g.Next = f.op("next")
	g.Ledger = f.ledger()
	p.cursor[g.Thread] = f.sum(g.Start, g.Duration)
	p.rec.Gaps = append(p.rec.Gaps, g)
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
	// A preempted or throttled thread could have run all the time.
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
	v.Dispatch = f.flag("dispatch") || v.Dispatch
	v.Followed = f.flag("followed")
	p.rec.ThreadTimes = append(p.rec.ThreadTimes, v)
}

func doLife(p *parser, f *fields) {
	t := f.must("thread")
	l := event.Life{At: f.time(t.Thread), Thread: t.Thread, Comm: t.Comm}
	for k := event.LifeFork; k <= event.LifeOOM; k++ {
		if k.String() == f.name {
			l.Kind = k
		}
	}
	if l.Kind == 0 {
		f.fail(fmt.Errorf("unknown kind of life %q", f.name))
	}
	if c := f.text("comm"); c != "" {
		l.Comm = c
	}
	l.Parent = f.thread("parent").Thread
	l.Op = f.op("op")
	l.Duration = f.dur("dur")
	p.rec.Lives = append(p.rec.Lives, l)
}

func doThrottle(p *parser, f *fields) {
	p.rec.Throttles = append(p.rec.Throttles, Throttle{
		At: f.time(event.Thread{}), Cgroup: f.text("cgroup"), Periods: f.uint("periods", 64), NS: f.dur("time"),
		Quota: f.dur("quota"), Period: f.dur("period"), Version: uint8(f.uint("version", 8)),
	})
}

func doStall(p *parser, f *fields) {
	p.rec.Stalls = append(p.rec.Stalls, event.Stall{
		Start: f.time(event.Thread{}), Duration: f.dur("dur"), CPU: uint16(f.uint("cpu", 16)),
	})
}

func doLoss(p *parser, f *fields) {
	for k := range event.NumLossKinds {
		if k.String() == f.name {
			p.rec.Losses = append(p.rec.Losses, event.Loss{Kind: k, Count: f.uint("count", 64)})
			return
		}
	}
	f.fail(fmt.Errorf("unknown loss %q", f.name))
}

func doStat(p *parser, f *fields) {
	s := Stat{Thread: f.must("thread").Thread, Op: f.op("op")}
	s.Calls, s.Errors = f.uint("calls", 64), f.uint("errors", 64)
	s.SumNS, s.MaxNS, s.Bytes = f.dur("sum"), f.dur("max"), f.uint("bytes", 64)
	for key, to := range map[string]*uint64{"first": &s.First, "last": &s.Last} {
		if v, ok := f.get(key); ok {
			*to = f.timeOf(v, s.Thread)
		}
	}
	s.Ledger = f.ledger()
	s.Durations = f.counts("durations")
	p.rec.Stats = append(p.rec.Stats, s)
}
