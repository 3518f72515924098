package accuracy

import (
	"slices"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/rig"
)

// Case is one run of the stand-in program: with one fault, with two, or, as a control, with nothing
// wrong.
type Case struct {
	Name      string    `json:"name"`
	Magnitude Magnitude `json:"magnitude,omitempty"` // of the faults
	Args      []string  `json:"args"`                // of "victim loop"
	Beside    []string  `json:"beside,omitempty"`    // of a second one that runs meanwhile
	// Expect is what must be found, one entry for each fault; empty for a control.
	Expect []Expect `json:"expect,omitempty"`
	// Allowed are the kinds that a control may report.
	Allowed []string `json:"allowed,omitempty"`

	needs  int                // CPUs
	change bool               // a change in mid-run is to be found
	phases bool               // a long control
	whatIf bool               // also run without the fault, to check the prediction
	pace   *pace              // what a real program measures itself; nil for the stand-in program
	real   func(*rig.Options) // makes the rig run a real program; nil: the stand-in program
}

// Control reports whether nothing is to be found.
func (c *Case) Control() bool { return len(c.Expect) == 0 }

// Magnitude is how strong a fault is.
type Magnitude string

// The magnitudes: about a tenth, a fifth and a third of the time, for faults that can be set as a
// time.
const (
	Small  Magnitude = "small"
	Medium Magnitude = "medium"
	Large  Magnitude = "large"
)

// Magnitudes lists them.
var Magnitudes = []Magnitude{Small, Medium, Large}

// Expect is what a diagnosis must say about one fault.
type Expect struct {
	Fault string   `json:"fault"`
	Kinds []string `json:"kinds"` // any of them is right; the first is the usual one
	Named Party    `json:"named"` // who must be named as the culprit
	// Path is the state in which the path must show that party; empty: any.
	Path string `json:"path,omitempty"`
	// Exact says that the program measures the lost time with a clock around the fault. For other
	// faults it knows only how much slower its steps were, for any reason.
	Exact bool `json:"exact"`
}

// Party is a thread or process that the program's truth names.
type Party string

// The parties.
const (
	Victim  Party = "victim"  // the thread that dispatches the GPU's work
	Culprit Party = "culprit" // another process, or thread of the program
	holder  Party = "holder"  // the thread that holds the lock
	peer    Party = "peer"    // the process that is waited for
)

// is reports whether the ids and the thread's name are those of the party. If the party is a thread
// of the program, it must be that thread, or another one of the same name. Otherwise it must be the
// process, which may have several threads, or one of several processes that are to blame.
func (p Party) is(pid, tid uint32, thread string, t *cudastub.Truth) bool {
	if p == Culprit && slices.Contains(t.CulpritPIDs, int(pid)) {
		return true
	}
	wantPID, wantTID, comm := p.ids(t)
	if int(pid) != wantPID || wantPID != t.PID {
		return int(pid) == wantPID
	}
	return int(tid) == wantTID || comm != "" && thread == comm
}

// ids are the PID and TID of a party and, if several threads may have it, its name; 0 if there is
// no such party.
func (p Party) ids(t *cudastub.Truth) (pid, tid int, comm string) {
	switch p {
	case Culprit:
		return t.CulpritPID, t.CulpritTID, t.CulpritComm
	case holder:
		return t.HolderPID, t.HolderTID, ""
	case peer:
		return t.PeerPID, t.PeerTID, ""
	}
	return t.PID, t.TID, ""
}

// injected is a fault of a run: what is expected, and the truth about it.
type injected struct {
	*Expect
	truth *cudastub.Truth
}

// injected pairs what a case expects with the truth: the first fault's is in the
// truth itself, the second one's in its Also.
func (c *Case) injected(t *cudastub.Truth) []injected {
	var list []injected
	for i := range c.Expect {
		own := *t
		if i > 0 && t.Also != nil {
			own.Injection = *t.Also
		}
		list = append(list, injected{&c.Expect[i], &own})
	}
	return list
}

// kind reports whether a chain is of a right kind.
func (f *injected) kind(c *report.Chain) bool { return slices.Contains(f.Kinds, c.Cause.Kind) }

// right reports whether a chain is of a right kind and blames the right party.
func (f *injected) right(c *report.Chain) bool {
	return f.kind(c) && f.Named.is(c.Cause.PID, c.Cause.TID, c.Cause.Thread, f.truth)
}

// shown reports whether a chain's path leads from a dispatching thread of the program to the
// culprit in the right state, through the lock's holder or the process that is waited for, if there
// is one. If the culprit is a process that is waited for, the path must lead on to what delays that
// process, if there is something.
func (f *injected) shown(c *report.Chain) bool {
	if len(c.Path) == 0 {
		return false
	}
	first := &c.Path[0]
	if !Victim.is(first.PID, first.TID, first.Thread, f.truth) &&
		(int(first.PID) != f.truth.PID || !slices.Contains(f.truth.Dispatchers, int(first.TID))) {
		return false
	}
	on := func(p Party, state string) bool {
		return slices.ContainsFunc(c.Path, func(s report.Step) bool {
			return p.is(s.PID, s.TID, s.Thread, f.truth) && (state == "" || state == s.State)
		})
	}
	for _, p := range []Party{holder, peer} {
		if pid, _, _ := p.ids(f.truth); pid != 0 && !on(p, "") {
			return false
		}
	}
	if f.Named == peer && f.truth.CulpritPID != 0 && !on(Culprit, "running") {
		return false
	}
	return on(f.Named, f.Path)
}
