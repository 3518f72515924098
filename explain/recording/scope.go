package recording

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Scope selects processes and operations. The zero value means all.
type Scope struct {
	PIDs    []int64  // these processes; any numbers, as the user gave them
	Process string   // processes of this name; upper and lower case are the same
	Op      event.Op // this operation; 0: all
	// Shown converts names to the form used in answers, which can also be asked for; nil: as
	// recorded.
	Shown func(name string) string
}

// NoProcessError says that a recording has no such process.
type NoProcessError struct {
	Unknown []int64  // the given numbers that are not those of a process
	Process string   // the given name
	Named   []uint32 // processes of that name with other numbers
	Traced  []string // names of the traced processes
}

// Error implements error.
func (e *NoProcessError) Error() string {
	if len(e.Unknown) > 0 {
		return fmt.Sprintf("no process %d was recorded", e.Unknown[0])
	}
	return fmt.Sprintf("no process %q was recorded", e.Process)
}

// everybody reports whether the scope is all processes.
func (s *Scope) everybody() bool { return len(s.PIDs) == 0 && s.Process == "" }

// pidsOf finds the processes of the scope, in order. The error is a *NoProcessError.
func (s *Scope) pidsOf(list []store.Process) ([]uint32, error) {
	e := &NoProcessError{Unknown: slices.Clone(s.PIDs), Process: s.Process}
	var pids []uint32
	for i := range list {
		p := &list[i]
		pid := int64(event.KernelID(p.PID)) // who had an id before is meant, too
		e.Unknown = slices.DeleteFunc(e.Unknown, func(n int64) bool { return n == pid })
		if p.Traced {
			e.Traced = append(e.Traced, p.Name)
		}
		switch {
		case !s.calls(p.Name):
		case len(s.PIDs) == 0 || slices.Contains(s.PIDs, pid):
			pids = append(pids, p.PID)
		case s.Process != "":
			e.Named = append(e.Named, event.KernelID(p.PID))
		}
	}
	if len(pids) == 0 || len(e.Unknown) > 0 {
		return nil, e
	}
	slices.Sort(pids)
	return slices.Compact(pids), nil
}

// calls reports whether a process of this name is asked for.
func (s *Scope) calls(name string) bool {
	return s.Process == "" || strings.EqualFold(name, s.Process) ||
		s.Shown != nil && strings.EqualFold(s.Shown(name), s.Process)
}
