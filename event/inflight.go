package event

import (
	"cmp"
	"fmt"
	"strings"
)

// InFlight is a call that had not returned when it was observed, a second or more
// after it began. If Op is 0, it is a thread between calls: one that makes calls and has
// made none for seconds (Silent), or one that holds what another of these waits for, or has
// the other end of it.
type InFlight struct {
	At uint64 // Unix ns at which it was last observed
	// Start is the Unix ns at which the outermost call began; of a silent thread, at which its last one returned; with Op
	// 0, that of the call, or silence, that is held up.
	Start uint64
	Thread
	Comm  string
	Op    Op // the outermost call
	Inner Op // the innermost one, if another; with Op 0, a younger call that the thread is in
	GPU   int8
	Args  [NumArgs]uint64 // of Op

	Silent bool // it is between calls, and makes calls else

	// What the thread did when it was observed:
	Doing  Doing
	Since  uint64 // Unix ns since when
	Class  Class  // what it waits for, if it is blocked
	Futex  uint64 // address waited on, if Class is Futex
	Holder Thread // of the lock it waits for, zero if unknown
	// HolderComm is the name of Holder, empty if unknown.
	HolderComm string
	// Peer is the first thread of the process that has the other end of the pipe that it waits for, zero if unknown.
	Peer     Thread
	PeerComm string
	// Stuck: no thread of its process can end the wait: they all wait, without a limit, for locks or conditions that only
	// they themselves could release (private futexes). So it is after a fork if another thread had the lock.
	Stuck   bool
	Syscall int16  // on the traced machine's architecture, -1 if in none
	File    string // behind the descriptor it reads, writes or polls, as /proc names it
	Inode   uint64

	OnCPU  uint64             // ns on a CPU since Start
	NS     [NumClasses]uint64 // ns off the CPU since Start, by class
	Stack  uint64             // StackID of where it is, 0 if unknown
	Kernel []uint64           // kernel stack, innermost first; nil if it runs

	Outcome Outcome
	End     uint64 // Unix ns at which it returned, or its thread ended; 0 if neither
}

// Age is how long the call took, or had been in progress when it was observed, ns.
func (f *InFlight) Age() uint64 {
	if f.End > f.Start {
		return f.End - f.Start
	}
	return max(f.At, f.Start) - f.Start
}

// Doing is what a thread does at one moment. The numbers are in databases and
// append-only.
type Doing uint8

// What a thread may do.
const (
	Running  Doing = 1 + iota
	Runnable       // waits for a CPU
	Blocked
)

var doingNames = [...]string{"", "running", "runnable", "blocked"}

// String returns the name used in SQL and JSON.
func (d Doing) String() string {
	if int(d) < len(doingNames) && d > 0 {
		return doingNames[d]
	}
	return fmt.Sprintf("doing-%d", uint8(d))
}

// DoingByName is the inverse of String.
func DoingByName(name string) (Doing, bool) {
	for d, n := range doingNames {
		if n == name && d > 0 {
			return Doing(d), true
		}
	}
	return 0, false
}

// Outcome says how a call ended that had been in flight for long. The numbers are
// in databases and append-only.
type Outcome uint8

// The outcomes.
const (
	StillInFlight Outcome = iota // when it was last observed
	Returned
	Died // its thread ended, or executed a new program, in the call
	Left // it is no longer in the call, and no return was recorded: it jumped out, or the record was dropped
)

var outcomeNames = [...]string{"in_flight", "returned", "died", "left"}

// String returns the name used in SQL and JSON.
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return fmt.Sprintf("outcome-%d", uint8(o))
}

// OutcomeByName is the inverse of String.
func OutcomeByName(name string) (Outcome, bool) {
	for o, n := range outcomeNames {
		if n == name {
			return Outcome(o), true
		}
	}
	return 0, false
}

// Waits describes what the thread does: "blocked on a lock held by flusher (tid 12)".
func (f *InFlight) Waits() string {
	switch f.Doing {
	case Running:
		return "running on a CPU"
	case Runnable:
		return "runnable, waiting for a CPU"
	case Blocked:
		return "blocked on " + f.waitsFor()
	}
	return "doing what is not known"
}

func (f *InFlight) waitsFor() string {
	switch {
	case f.Class != Futex:
	case f.Stuck:
		return fmt.Sprintf("a lock or condition that no thread of its process can release (futex %#x)", f.Futex)
	case f.Holder == Thread{}:
		return fmt.Sprintf("a lock or condition (futex %#x)", f.Futex)
	case f.HolderComm == "":
		return fmt.Sprintf("a lock held by tid %d", f.Holder.TID)
	default:
		return fmt.Sprintf("a lock held by %s (tid %d)", f.HolderComm, f.Holder.TID)
	}
	of := ""
	if f.File != "" {
		of = " (" + f.File + ")"
	}
	w := strings.Replace(cmp.Or(f.Class.words().blocked, Other.words().blocked), ofFile, of, 1)
	if f.Peer.PID != 0 {
		w += fmt.Sprintf(" whose other end %s (pid %d) has", cmp.Or(f.PeerComm, "a process"), KernelID(f.Peer.PID))
	}
	return w
}
