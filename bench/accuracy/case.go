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
	Holder  Party = "holder"  // the thread that held the lock
)

// is reports whether the ids are those of the party: the thread, if it is one of
// the program's own; the process otherwise, which may have several threads.
func (p Party) is(pid, tid uint32, t *cudastub.Truth) bool {
	wantPID, wantTID := t.PID, t.TID
	switch p {
	case Culprit:
		wantPID, wantTID = t.CulpritPID, t.CulpritTID
	case Holder:
		wantTID = t.HolderTID
	}
	if wantPID != t.PID {
		return int(pid) == wantPID
	}
	return int(pid) == wantPID && int(tid) == wantTID
}

// kind reports whether a chain is of a right kind.
func (e *Expect) kind(c *report.Chain) bool { return slices.Contains(e.Kinds, c.Cause.Kind) }

// right reports whether a chain is of a right kind and blames the right party.
func (e *Expect) right(c *report.Chain, t *cudastub.Truth) bool {
	return e.kind(c) && e.Named.is(c.Cause.PID, c.Cause.TID, t)
}

// shown reports whether a chain's path leads from the program's dispatching
// thread to the party, in the right state.
func (e *Expect) shown(c *report.Chain, t *cudastub.Truth) bool {
	if len(c.Path) == 0 || !Victim.is(c.Path[0].PID, c.Path[0].TID, t) {
		return false
	}
	return slices.ContainsFunc(c.Path, func(s report.Step) bool {
		return e.Named.is(s.PID, s.TID, t) && (e.Path == "" || e.Path == s.State)
	})
}
