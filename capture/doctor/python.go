package doctor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/symbol/python"
)

// interpreter says which Python a process runs, or why its frames are not seen.
func (e *exam) interpreter(p *Process) {
	found, err := python.NewFinder(e.fs).Find(p.PID)
	var cannot *python.UnsupportedError
	switch {
	case errors.As(err, &cannot):
		p.NoPython = cannot.Error()
	case err != nil || found == nil: // not Python, or not to be looked at, which is said elsewhere
	default:
		p.Python = found.Version.String()
	}
}

// python says whether stacks get Python frames.
func (e *exam) python() Check {
	c := Check{
		Name: "python", Status: OK,
		Detail: fmt.Sprintf("frames of CPython 3.%d to 3.%d are seen", python.Oldest, python.Newest),
	}
	if err := probe.PythonSupport(); err != nil {
		c.Status, c.Detail = Info, err.Error()
		return c
	}
	var not []string
	for _, p := range e.r.Processes {
		if p.NoPython != "" {
			not = append(not, fmt.Sprintf("%s (%d): %s", p.Comm, p.PID, p.NoPython))
		}
	}
	if len(not) > 0 {
		c.Status, c.Detail = Warning, strings.Join(not, "; ")
		c.Remedy = "its calls are traced, with native stacks; for Python frames run it with a version that is known"
	}
	return c
}
