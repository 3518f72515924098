package accuracy

import (
	"slices"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/rig"
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

	needs  int                // CPUs
	whatIf bool               // also run without the fault, to compare what was predicted
	pace   *pace              // what a real program measures of itself; nil: it does not
	real   func(*rig.Options) // has the rig run a real program; nil: the stand-in program
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
	holder  Party = "holder"  // who holds the lock that is waited for
	peer    Party = "peer"    // the process that is waited for
)

// is reports whether the ids and the thread's name are those of the party: the
// thread, or another of its name, if it is one of the program's own; the process
// otherwise, which may have several threads, or one of several that are to blame.
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

// ids are the numbers and, if several threads may bear it, the name of a party;
// 0 if there is none.
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

// shown reports whether a chain's path leads from a dispatching thread of the
// program, through the lock's holder or the process that is waited for, if there
// is one, to who is to blame, in the right state. If that is a process that is waited
// for, it leads on to who runs and keeps it from its work, if there is somebody.
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
