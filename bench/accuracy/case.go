package accuracy

import (
	"slices"

	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/report"
)

// Case is one run of the stand-in program: with one fault, with two, or, as a
// control, with nothing wrong.
type Case struct {
	Name      string    `json:"name"`
	Magnitude Magnitude `json:"magnitude,omitempty"` // of the faults
	Args      []string  `json:"args"`                // of "victim loop"
	Beside    []string  `json:"beside,omitempty"`    // of a second one that runs meanwhile
	// Expect is what is to be found, one for each fault; empty for a control.
	Expect []Expect `json:"expect,omitempty"`
	// Allowed are the kinds that a control may report.
	Allowed []string `json:"allowed,omitempty"`

	needs  int  // CPUs
	whatIf bool // also run without the fault, to compare what was predicted
}

// Control says that nothing is to be found.
func (c *Case) Control() bool { return len(c.Expect) == 0 }

// Magnitude says how strong a fault is.
type Magnitude string

// The magnitudes: about a tenth, a fifth and a third of the time, where a fault
// can be given in time.
const (
	Small  Magnitude = "small"
	Medium Magnitude = "medium"
	Large  Magnitude = "large"
)

// Magnitudes lists them.
var Magnitudes = []Magnitude{Small, Medium, Large}

// Expect is what a diagnosis has to say of one fault.
type Expect struct {
	Fault string   `json:"fault"`
	Kinds []string `json:"kinds"` // any of them is right; the first is the usual one
	Named Party    `json:"named"` // who must be to blame
	// Path is the state in which the path must show that party; empty: any.
	Path string `json:"path,omitempty"`
	// Exact says that the program measures the time it loses with a clock around
	// the place. Of other faults it knows only how much slower its steps were,
	// whatever else slowed them.
	Exact bool `json:"exact"`
}

// Party is somebody whom the program's truth names.
type Party string

// The parties.
const (
	Victim  Party = "victim"  // the thread that dispatches the GPU's work
	Culprit Party = "culprit" // another process, or thread of the program
)

// is reports whether the ids and the thread's name are those of the party: the
// thread, or another of its name, if it is one of the program's own; the process
// otherwise, which may have several threads.
func (p Party) is(pid, tid uint32, thread string, t *cudastub.Truth) bool {
	wantPID, wantTID, comm := t.PID, t.TID, ""
	if p == Culprit {
		wantPID, wantTID, comm = t.CulpritPID, t.CulpritTID, t.CulpritComm
	}
	if int(pid) != wantPID || wantPID != t.PID {
		return int(pid) == wantPID
	}
	return int(tid) == wantTID || comm != "" && thread == comm
}

// kind reports whether a chain is of a right kind.
func (e *Expect) kind(c *report.Chain) bool { return slices.Contains(e.Kinds, c.Cause.Kind) }

// right reports whether a chain is of a right kind and blames the right party.
func (e *Expect) right(c *report.Chain, t *cudastub.Truth) bool {
	return e.kind(c) && e.Named.is(c.Cause.PID, c.Cause.TID, c.Cause.Thread, t)
}

// shown reports whether a chain's path leads from the program's dispatching
// thread to the party, in the right state.
func (e *Expect) shown(c *report.Chain, t *cudastub.Truth) bool {
	if len(c.Path) == 0 || !Victim.is(c.Path[0].PID, c.Path[0].TID, c.Path[0].Thread, t) {
		return false
	}
	return slices.ContainsFunc(c.Path, func(s report.Step) bool {
		return e.Named.is(s.PID, s.TID, s.Thread, t) && (e.Path == "" || e.Path == s.State)
	})
}
