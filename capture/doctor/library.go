package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/ingero-io/ingero/capture/host/cudalib"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/privilege"
	"github.com/ingero-io/ingero/capture/probe"
)

// libraries lists the files that are installed or in use, and what of them can
// be timed.
func (e *exam) libraries() Check {
	e.r.Libraries = []Library{}
	seen := map[[2]uint64]bool{}
	var patterns []*regexp.Regexp
	for _, l := range e.libs {
		patterns = append(patterns, l.File)
	}
	for _, path := range cudalib.Installed(cudalib.SearchPath(os.Getenv("LD_LIBRARY_PATH")), patterns...) {
		e.library(path, path, seen)
	}
	e.look(seen)
	trouble := 0
	functions := 0
	for _, l := range e.r.Libraries {
		functions += l.Attached
		if l.Trouble != "" {
			trouble++
		}
	}
	switch {
	case len(e.r.Libraries) == 0:
		return Check{
			Name: "libraries", Status: Info,
			Detail: "no CUDA library is installed in the usual places or in use; one in a virtual environment or container " +
				"is found when a process loads it",
		}
	case trouble > 0:
		return Check{
			Name: "libraries", Status: Warning,
			Detail: fmt.Sprintf("%d of %d library files cannot be used", trouble, len(e.r.Libraries)),
			Remedy: "see the list; a library of another architecture is no trouble",
		}
	}
	return Check{
		Name: "libraries", Status: OK,
		Detail: fmt.Sprintf("%d files with %d functions", len(e.r.Libraries), functions),
	}
}

// library examines a file, once for all its names.
func (e *exam) library(path, name string, seen map[[2]uint64]bool) {
	lib := e.probeOf(name)
	if lib == nil {
		return
	}
	if i, err := privilege.Stat(path); err == nil {
		if s, ok := i.Sys().(*syscall.Stat_t); ok {
			key := [2]uint64{uint64(s.Dev), s.Ino}
			if seen[key] {
				return
			}
			seen[key] = true
		}
	}
	l := Library{Probe: lib.Name, Path: name, Missing: []string{}, Slow: []string{}}
	found, err := lib.Find(path)
	switch {
	case err != nil:
		l.Trouble = err.Error()
	case len(found.Targets) == 0:
		l.Trouble = "it exports none of the functions"
	default:
		l.Attached = len(found.Targets)
		l.Missing = append(l.Missing, found.Missing...)
		l.Slow = append(l.Slow, found.Slow()...)
	}
	e.r.Libraries = append(e.r.Libraries, l)
}

func (e *exam) probeOf(path string) *probe.Library {
	for _, l := range e.libs {
		if l.File.MatchString(filepath.Base(path)) {
			return l
		}
	}
	return nil
}

// look goes through the processes for those that use a library.
func (e *exam) look(seen map[[2]uint64]bool) {
	e.r.Processes = []Process{}
	pids, err := e.fs.PIDs()
	if err != nil {
		return // no process is visible
	}
	for _, pid := range pids {
		maps, err := e.fs.Maps(pid)
		if errors.Is(err, fs.ErrPermission) {
			e.hidden++
		}
		p := Process{PID: pid, Libraries: []string{}, NotSeen: []string{}}
		for _, m := range maps {
			e.mapping(&p, m, seen)
		}
		if len(p.Libraries) == 0 {
			continue
		}
		p.Comm, _ = e.fs.Comm(pid, pid) // a process that has just ended keeps no name
		e.interpreter(&p)
		e.r.Processes = append(e.r.Processes, p)
	}
}

func (e *exam) mapping(p *Process, m proc.Mapping, seen map[[2]uint64]bool) {
	if !m.Exec || e.probeOf(m.Path) == nil || slices.Contains(p.Libraries, m.Path) {
		return
	}
	p.Libraries = append(p.Libraries, m.Path)
	path, err := e.fs.Open(p.PID, m)
	if err != nil {
		p.NotSeen = append(p.NotSeen, fmt.Sprintf("%s: %v", filepath.Base(m.Path), err))
		return
	}
	e.library(path, m.Path, seen)
}

func (e *exam) processes() Check {
	list := e.r.Processes
	c := Check{Name: "processes", Status: OK, Detail: fmt.Sprintf("%d use CUDA now", len(list))}
	if len(list) == 0 {
		c.Status, c.Detail = Info, "none uses CUDA now; those that start will be traced"
	}
	var partly []string
	for _, p := range list {
		if len(p.NotSeen) > 0 {
			partly = append(partly, fmt.Sprintf("%s (%d): %s", p.Comm, p.PID, strings.Join(p.NotSeen, ", ")))
		}
	}
	switch {
	case len(partly) > 0:
		c.Status, c.Detail, c.Remedy = Warning, "not all can be traced: "+strings.Join(partly, "; "),
			"run it with sudo; restart programs whose libraries were replaced"
	case e.hidden > 0:
		c.Status = Info
		c.Detail += fmt.Sprintf("; %d more may not be looked at", e.hidden)
	}
	return c
}
