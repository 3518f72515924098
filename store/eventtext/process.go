package eventtext

import (
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/capture/host/framework"
	"github.com/ingero-io/ingero/capture/host/owner"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

var baseKind = kind{word: "base", named: true, parse: doBase, format: (*writer).baseLine}

func doBase(p *parser, f *fields) { p.rec.Base = f.duration(f.name) }

func (w *writer) baseLine(r *Recording) {
	if r.Base != DefaultBase {
		w.line("base " + formatDuration(r.Base))
	}
}

var selfKind = kind{word: "self", named: true, parse: doSelf, format: (*writer).selfLine}

func doSelf(p *parser, f *fields) { p.rec.Self = uint32(f.number(f.name, 32)) }

func (w *writer) selfLine(r *Recording) {
	if r.Self != 0 {
		w.line(fmt.Sprintf("self %d", r.Self))
	}
}

var processKind = kind{
	word: "process", named: true, parse: doProcess,
	format: lines(func(r *Recording) []store.Process { return r.Processes }, (*writer).process),
}

func doProcess(p *parser, f *fields) {
	name, err := unquote(f.name)
	f.fail(err)
	cgroup := f.text("cgroup")
	p.rec.Processes = append(p.rec.Processes, store.Process{
		Name: name, PID: uint32(f.uint("pid", 32)), Parent: uint32(f.uint("parent", 32)),
		Command: f.text("command"), Cgroup: cgroup, Owner: owner.FromPath(cgroup),
		Framework: framework.Name(f.text("framework")),
		Rank:      int(f.int("rank", 32, -1)), LocalRank: -1, WorldSize: -1, Traced: f.flag("traced"),
	})
}

func (w *writer) process(p *store.Process) {
	w.word("process " + quote(p.Name))
	w.num("pid", uint64(p.PID))
	w.num("parent", uint64(p.Parent))
	w.text("command", p.Command)
	w.text("cgroup", p.Cgroup)
	w.text("framework", string(p.Framework))
	w.int("rank", int64(p.Rank), -1)
	w.flag("traced", p.Traced)
}

var libraryKind = kind{
	word: "library", named: true, parse: doLibrary,
	format: lines(func(r *Recording) []store.Library { return r.Libraries }, (*writer).library),
}

func doLibrary(p *parser, f *fields) {
	name, err := unquote(f.name)
	f.fail(err)
	p.rec.Libraries = append(p.rec.Libraries, store.Library{
		Name: name, PID: uint32(f.uint("pid", 32)), Path: f.text("path"), Version: f.text("version"),
		BuildID: f.text("build_id"), Size: f.uint("size", 64),
	})
}

func (w *writer) library(l *store.Library) {
	w.word("library " + quote(l.Name))
	w.num("pid", uint64(l.PID))
	w.text("path", l.Path)
	w.text("version", l.Version)
	w.text("build_id", l.BuildID)
	w.num("size", l.Size)
}

var threadKind = kind{word: "thread", named: true, parse: doThread, format: (*writer).threads}

func doThread(p *parser, f *fields) {
	var t store.ThreadInfo
	if strings.ContainsAny(f.name, "/:\"") {
		f.fail(fmt.Errorf("bad label %q", f.name))
	}
	t.TID = uint32(f.uint("tid", 32))
	t.PID = uint32(f.uint("pid", 32))
	t.Comm = f.text("comm")
	t.Dispatch = f.flag("dispatch")
	if _, ok := p.labels[f.name]; ok {
		f.fail(fmt.Errorf("thread %q is there twice", f.name))
	}
	p.labels[f.name] = t
	p.rec.Threads, p.rec.Names = append(p.rec.Threads, t), append(p.rec.Names, f.name)
}

func (w *writer) threads(r *Recording) {
	for i := range r.Threads {
		t := &r.Threads[i]
		w.word("thread " + r.Names[i])
		w.num("pid", uint64(t.PID))
		w.num("tid", uint64(t.TID))
		w.text("comm", t.Comm)
		w.flag("dispatch", t.Dispatch)
		w.line("")
	}
}

// skipKind moves a thread's cursor over time that leaves no record.
var skipKind = kind{word: "skip", parse: doSkip}

func doSkip(p *parser, f *fields) {
	t := f.must("thread").Thread
	f.when = "."
	p.cursor[t] = f.sum(f.time(t), f.dur("dur"))
}

var lifeKind = kind{
	word: "life", timed: true, named: true, parse: doLife,
	format: lines(func(r *Recording) []event.Life { return r.Lives }, (*writer).life),
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

func (w *writer) life(l *event.Life) {
	w.word("life " + w.when(l.At) + " " + l.Kind.String())
	w.thread("thread", l.Thread)
	w.thread("parent", l.Parent)
	w.text("comm", l.Comm)
	w.op("op", l.Op)
	w.dur("dur", l.Duration)
}
