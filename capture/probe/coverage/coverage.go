// Package coverage lists the processes that use CUDA: what of each can be traced,
// what cannot, and why. It reads /proc and the files mapped; it traces nothing.
package coverage

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/ingero-io/ingero/capture/host/cudalib"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/discover"
)

// Report is every process that uses CUDA. Fields, and codes, are only ever added;
// docs/coverage.md describes them.
type Report struct {
	Schema    int       `json:"schema"`
	Complete  bool      `json:"complete"` // every process could be looked at
	Hidden    int       `json:"hidden"`   // processes that could not
	Backend   string    `json:"backend"`  // the way of attaching; empty if tracing does not work here
	Reasons   []Reason  `json:"reasons"`  // why it does not, or not fully
	Processes []Process `json:"processes"`
}

// Reason is something about this machine, or about a process, that keeps calls
// from being seen.
type Reason struct {
	Code string `json:"code"` // for programs; stable
	What string `json:"what"` // is not seen
	Why  string `json:"why"`
	Next string `json:"next"` // what to do about it; empty if nothing needs doing
}

// Traced says how much of a process is seen.
type Traced string

// The answers.
const (
	Yes    Traced = "yes"    // every CUDA library in it is timed, and every function that launches
	Partly Traced = "partly" // some is not; see Process.NotSeen
	No     Traced = "no"
)

// Process is one that uses CUDA.
type Process struct {
	PID       int       `json:"pid"`
	Name      string    `json:"name"`
	Traced    Traced    `json:"traced"`
	Libraries []Library `json:"libraries"`
	NotSeen   []Reason  `json:"not_seen"`
}

// Library is a file with CUDA functions in a process.
type Library struct {
	Kind     cudalib.Kind `json:"kind"`
	Path     string       `json:"path"`     // as the process sees it
	Embedded bool         `json:"embedded"` // a copy of the runtime inside another file
	Deleted  bool         `json:"deleted"`  // or replaced, since it was mapped
	Soname   string       `json:"soname"`
	Version  string       `json:"version"` // from the file's name
	BuildID  string       `json:"build_id"`
	Timed    bool         `json:"timed"`
	Attached []string     `json:"attached"` // functions; attached to as soon as tracing begins
	Same     []string     `json:"same"`     // functions that are counted by one of Attached: they are it, or jump to it
	LeftOut  []string     `json:"left_out"` // functions that this way of attaching leaves out: they are seldom called
	Missing  []string     `json:"missing"`  // functions that the file does not have
	Slow     []string     `json:"slow"`     // functions whose first instruction has to be single-stepped
}

// Options say what to look at.
type Options struct {
	Proc      string // empty: /proc
	Libraries []*probe.Library
	PIDs      []int    // only these; nil: every process
	Backend   string   // as found by trying; empty: tracing does not work
	Reasons   []Reason // why not
	Self      int      // process to leave out
}

// Examine looks at the processes. An error says that there is no /proc.
func Examine(o *Options) (*Report, error) {
	e := &exam{
		opts: o, fs: proc.New(o.Proc), functions: map[fileKey]*content{}, names: map[fileKey]*symbols{},
		report: &Report{
			Schema: 1, Complete: true, Backend: o.Backend, Reasons: append([]Reason{}, o.Reasons...), Processes: []Process{},
		},
	}
	e.finder = discover.New(e.fs, o.Libraries)
	e.finder.Thorough = true
	pids := o.PIDs
	if pids == nil {
		var err error
		if pids, err = e.fs.PIDs(); err != nil {
			return nil, fmt.Errorf("list processes: %w", err)
		}
	}
	for _, pid := range pids {
		if pid != o.Self {
			e.process(pid)
		}
	}
	if n := e.report.Hidden; n > 0 {
		e.report.Complete = false
		r := Reason{
			Code: "hidden_processes", What: fmt.Sprintf("%d processes", n),
			Why: "they belong to other users, or have more privileges", Next: "run it with sudo, or with CAP_SYS_PTRACE",
		}
		if n == 1 {
			r.What, r.Why = "1 process", "it belongs to another user, or has more privileges"
		}
		e.report.Reasons = append(e.report.Reasons, r)
	}
	return e.report, nil
}

// exam is an examination in progress.
type exam struct {
	opts      *Options
	fs        proc.FS
	finder    *discover.Finder
	functions map[fileKey]*content
	names     map[fileKey]*symbols
	report    *Report
}

func (e *exam) process(pid int) {
	files, err := e.finder.Process(pid)
	if errors.Is(err, fs.ErrPermission) {
		e.report.Hidden++
	}
	devices := 0
	if len(files) == 0 {
		if devices = e.devices(pid); devices == 0 {
			return
		}
	}
	p := Process{PID: pid, Libraries: []Library{}, NotSeen: []Reason{}}
	p.Name, _ = e.fs.Comm(pid, pid) // a process that has just ended keeps no name
	for i := range files {
		e.library(&p, &files[i])
	}
	e.compare(&p, files)
	if devices > 0 {
		p.NotSeen = append(p.NotSeen, Reason{
			Code: "no_library", What: "what it does with the GPU",
			Why: "it has a GPU open, but no CUDA library mapped: it draws, keeps the driver loaded, or is in a way of its own",
		})
	}
	p.conclude(e.opts.Backend != "")
	e.report.Processes = append(e.report.Processes, p)
}

// devices counts the GPUs a process has open. Without permission it is none.
func (e *exam) devices(pid int) (n int) {
	for _, name := range e.fs.OpenFiles(pid) {
		rest, ok := strings.CutPrefix(name, "/dev/nvidia")
		if ok && (rest == "-uvm" || rest != "" && strings.Trim(rest, "0123456789") == "") || name == "/dev/dxg" {
			n++
		}
	}
	return n
}

// library adds a file to a process, with what of it is not seen.
func (e *exam) library(p *Process, f *discover.File) {
	l := Library{
		Kind: f.Kind, Path: f.Mapping.Path, Embedded: f.Embedded, Deleted: f.Mapping.Deleted,
		Attached: []string{}, Same: []string{}, LeftOut: []string{}, Missing: []string{}, Slow: []string{},
	}
	base := filepath.Base(l.Path)
	if !f.Embedded {
		l.Version = cudalib.VersionOf(l.Path)
	}
	defer func() { p.Libraries = append(p.Libraries, l) }()
	if f.Err != nil {
		p.NotSeen = append(p.NotSeen, unopened(base, f.Err))
		return
	}
	c := e.content(f)
	l.Soname, l.BuildID = c.soname, c.buildID
	switch {
	case f.Library == nil:
		p.NotSeen = append(p.NotSeen, Reason{
			Code: StrippedRuntime, What: "runtime calls from inside " + base,
			Why:  "it carries a copy of the CUDA runtime without symbols; the driver calls that they lead to are seen",
			Next: "build it with nvcc --cudart=shared, or do not strip it; a library of NVIDIA's is as it is",
		})
	case c.err != nil:
		p.NotSeen = append(p.NotSeen,
			Reason{Code: "unreadable", What: "calls of " + base, Why: c.err.Error(), Next: "report this message"})
	case len(c.found.Targets) == 0:
		p.NotSeen = append(p.NotSeen, Reason{
			Code: "no_functions", What: "calls of " + base,
			Why: "it has none of the functions that are timed; its name may mislead",
		})
	default:
		l.Timed = true
		targets, leftOut := c.found.For(probe.Backend(e.opts.Backend))
		for _, t := range targets {
			l.Attached = append(l.Attached, t.Symbol)
		}
		l.Same = append(l.Same, c.found.Same...)
		l.LeftOut = append(l.LeftOut, leftOut...)
		l.Missing = append(l.Missing, c.found.Missing...)
		l.Slow = append(l.Slow, c.found.Slow()...)
	}
}

// unopened words why a mapped file could not be opened.
func unopened(base string, err error) Reason {
	r := Reason{What: "calls of " + base}
	switch {
	case errors.Is(err, fs.ErrPermission):
		r.Code, r.Why = "no_permission", "its file may not be opened: "+err.Error()
		r.Next = "run it with sudo; a file that was deleted needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE, too"
	case errors.Is(err, fs.ErrNotExist):
		r.Code, r.Why = "file_gone", "its file was deleted or replaced, and cannot be reached any more"
		r.Next = "run it with sudo, or restart the program"
	default:
		r.Code, r.Why, r.Next = "unreadable", err.Error(), "report this message"
	}
	return r
}

// StrippedRuntime is the code of a copy of the CUDA runtime without symbols.
const StrippedRuntime = "stripped_runtime"

// Copies are the names of the files with copies of the CUDA runtime without symbols, if the driver
// calls that these copies make are seen; else none.
func (p *Process) Copies() []string {
	var names []string
	driver := false
	for i := range p.Libraries {
		l := &p.Libraries[i]
		driver = driver || l.Kind == cudalib.Driver && l.Timed
		if l.Embedded && !l.Timed {
			names = append(names, filepath.Base(l.Path))
		}
	}
	stripped := 0
	for _, r := range p.NotSeen {
		if r.Code == StrippedRuntime {
			stripped++
		}
	}
	if !driver || stripped != len(names) { // one of the files has another problem
		return nil
	}
	return names
}

// conclude says how much is seen. works: tracing does, on this machine.
func (p *Process) conclude(works bool) {
	timed, runtime, driver := 0, false, false
	for _, l := range p.Libraries {
		if l.Timed {
			timed++
		}
		runtime = runtime || l.Kind == cudalib.Runtime
		driver = driver || l.Kind == cudalib.Driver
	}
	if driver && !runtime {
		p.NotSeen = append(p.NotSeen, Reason{
			Code: "no_runtime", What: "no runtime calls",
			Why: "no file of it is, or contains, the CUDA runtime: it calls the driver itself",
		})
	}
	p.Traced = Yes
	for _, r := range p.NotSeen {
		switch r.Code {
		case "no_runtime", "untraced_function": // what runs on the GPU is seen
		default:
			p.Traced = Partly
		}
	}
	if timed == 0 || !works {
		p.Traced = No
	}
}
