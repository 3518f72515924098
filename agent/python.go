package agent

import (
	"errors"
	"log/slog"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/symbol/python"
	"github.com/ingero-io/ingero/event"
)

// pythons reports to the kernel programs which traced processes run Python, so that their stacks
// get Python frames.
type pythons struct {
	tracer *probe.Tracer
	finder *python.Finder
	log    *slog.Logger
	known  map[int]bool    // processes whose interpreter was found, or is not supported
	said   map[string]bool // reasons that were logged
	off    bool
	// reading reads files and memory of processes.
	reading limit.Patient
	answers limit.Late[int, *python.Interpreter]
	again   map[int]bool // processes of which nothing could be said in time
}

func newPythons(t *probe.Tracer, fs proc.FS, stack probe.StackPolicy, log *slog.Logger) *pythons {
	p := &pythons{
		tracer: t, finder: python.NewFinder(fs), log: log, known: map[int]bool{}, said: map[string]bool{},
		again: map[int]bool{}, off: stack == probe.StackOff, reading: limit.Patient{Wait: startPatience},
	}
	if err := probe.PythonSupport(); err != nil && !p.off {
		p.off = true
		log.Info("Python frames are not recorded", "err", err)
	}
	return p
}

func (p *pythons) follower(x *targets) follower {
	return follower{
		start:     func(*beginning) { p.scan(x) },
		rescanned: func() { p.scan(x) },
		mapped:    func(m probe.Mapped) { p.mapped(m, x) },
		traced:    p.look,
		second: func(*second) {
			p.reading.Wait = patience
			for pid := range p.again {
				p.look(pid)
			}
		},
		life: func(l *event.Life) {
			switch {
			case l.Kind == event.LifeFork && l.PID == l.TID:
				p.forked(int(l.Parent.PID), int(l.PID))
			case l.Kind == event.LifeExec:
				p.executed(int(l.PID))
			}
		},
		ended: func(ends []event.Life) {
			for pid := range processesOf(ends) {
				p.exited(int(pid))
			}
		},
	}
}

// scan looks at all processes that are traced or named.
func (p *pythons) scan(x *targets) {
	for pid := range x.traced {
		p.look(pid)
	}
	for pid := range x.processTree {
		p.look(pid)
	}
}

// look finds the Python interpreter of a process, if it is not known yet.
func (p *pythons) look(pid int) {
	if p.off || p.known[pid] {
		return
	}
	found, known := p.answers.Take(pid)
	var err error
	if !known {
		found, err = limit.Within(&p.reading, func() (*python.Interpreter, error) { return p.finder.Find(pid) },
			func(found *python.Interpreter) { p.answers.Put(pid, found) })
	}
	delete(p.again, pid)
	var cannot *python.UnsupportedError
	switch {
	case errors.Is(err, limit.ErrNoAnswer):
		p.again[pid] = true
	case errors.As(err, &cannot):
		p.known[pid] = true
		if !p.said[err.Error()] && len(p.said) < limit.Warnings {
			p.said[err.Error()] = true
			p.log.Warn("Python frames of this process are not recorded: this interpreter is not supported",
				"pid", pid, "file", cannot.Path, "why", cannot.Why)
		}
	case err != nil || found == nil: // it ended, or may load one later
	default:
		p.known[pid] = true
		if err := p.tracer.SetPython(pid, found.Layout); err != nil {
			p.log.Warn("cannot record Python frames", "pid", pid, "err", err)
			return
		}
		p.log.Debug("Python found", "pid", pid, "version", found.Version, "file", found.Path)
	}
}

// mapped handles a file that a process has just mapped executable: an interpreter, or a library
// that made the process a traced one.
func (p *pythons) mapped(m probe.Mapped, x *targets) {
	if !p.off && !p.known[m.PID] && (x.traced[m.PID] || x.processTree[m.PID]) {
		p.look(m.PID)
	}
}

func (p *pythons) forked(parent, child int) {
	if p.off || !p.known[parent] {
		return
	}
	p.known[child] = true
	if err := p.tracer.InheritPython(parent, child); err != nil {
		p.log.Warn("cannot record Python frames", "pid", child, "err", err)
	}
}

// executed handles a process that has just executed another program.
func (p *pythons) executed(pid int) {
	p.exited(pid)
	p.look(pid)
}

func (p *pythons) exited(pid int) {
	delete(p.again, pid)
	delete(p.known, pid)
	p.tracer.ForgetPython(pid)
}
