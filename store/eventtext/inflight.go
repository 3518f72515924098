package eventtext

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
)

var flightKind = kind{
	word: "flight", timed: true, parse: doFlight,
	format: lines(func(r *Recording) []event.InFlight { return r.InFlight }, (*writer).flight),
}

// doFlight reads a call that has not returned: flight START thread= op= seen=TIME
// doing= class= …; without op a thread between calls: silent, or one that holds what another waits for.
func doFlight(p *parser, f *fields) {
	t := f.must("thread")
	e := event.InFlight{Thread: t.Thread, Comm: t.Comm, Start: f.time(t.Thread), Op: f.op("op"), Inner: f.op("inner")}
	if c := f.text("comm"); c != "" {
		e.Comm = c
	}
	at := func(key string) uint64 {
		v, ok := f.get(key)
		if !ok {
			return 0
		}
		return f.timeOf(v, t.Thread)
	}
	e.At, e.Since, e.End = at("seen"), at("since"), at("end")
	e.GPU = int8(f.int("gpu", 8, event.NoGPU))
	e.Args = f.args()
	if v, ok := f.get("doing"); ok {
		if e.Doing, ok = event.DoingByName(v); !ok {
			f.fail(fmt.Errorf("unknown doing %q", v))
		}
	}
	if v, ok := f.get("class"); ok {
		if e.Class, ok = event.ClassByName(v); !ok || e.Class >= event.NumClasses {
			f.fail(fmt.Errorf("unknown class %q", v))
		}
	}
	if v, ok := f.get("outcome"); ok {
		if e.Outcome, ok = event.OutcomeByName(v); !ok {
			f.fail(fmt.Errorf("unknown outcome %q", v))
		}
	}
	e.Futex = f.uint("word", 64)
	h := f.thread("holder")
	e.Holder, e.HolderComm = h.Thread, h.Comm
	if c := f.text("holder_comm"); c != "" {
		e.HolderComm = c
	}
	e.Silent, e.Stuck = f.flag("silent"), f.flag("stuck")
	peer := f.thread("peer")
	e.Peer, e.PeerComm = peer.Thread, peer.Comm
	e.Syscall = int16(f.int("syscall", 16, -1))
	e.File, e.Inode = f.text("file"), f.uint("inode", 64)
	e.OnCPU = f.dur("on_cpu")
	for c := range event.NumClasses {
		e.NS[c] = f.dur(c.String())
	}
	e.Stack = f.uint("stack", 64)
	e.Kernel = f.numbers("kernel")
	p.rec.InFlight = append(p.rec.InFlight, e)
}

func (w *writer) flight(e *event.InFlight) {
	w.word("flight " + w.when(e.Start))
	w.thread("thread", e.Thread)
	w.text("comm", e.Comm)
	w.op("op", e.Op)
	w.op("inner", e.Inner)
	for _, t := range []struct {
		key string
		at  uint64
	}{{"seen", e.At}, {"since", e.Since}, {"end", e.End}} {
		if t.at != 0 {
			w.set(t.key, w.when(t.at))
		}
	}
	w.int("gpu", int64(e.GPU), event.NoGPU)
	if e.Args != [event.NumArgs]uint64{} {
		w.list("args", e.Args[:])
	}
	if e.Doing != 0 {
		w.set("doing", e.Doing.String())
	}
	if e.Class != 0 {
		w.set("class", e.Class.String())
	}
	if e.Outcome != event.StillInFlight {
		w.set("outcome", e.Outcome.String())
	}
	w.hex("word", e.Futex)
	w.thread("holder", e.Holder)
	w.text("holder_comm", e.HolderComm)
	w.flag("silent", e.Silent)
	w.flag("stuck", e.Stuck)
	w.thread("peer", e.Peer)
	w.int("syscall", int64(e.Syscall), -1)
	w.text("file", e.File)
	w.num("inode", e.Inode)
	w.dur("on_cpu", e.OnCPU)
	w.classes(&e.NS)
	w.hex("stack", e.Stack)
	w.list("kernel", e.Kernel)
}
