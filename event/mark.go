package event

import "fmt"

// Mark is a call by which a program says what it is about to do, or has done: it marks a moment, or
// the begin or the end of a range, by a function of NVTX. It is no [Call]: it hands the GPU no work,
// waits for nothing, and belongs to no step; it says what the calls around it are for.
type Mark struct {
	Start    uint64 // Unix ns at entry
	Duration uint64 // ns of the call, not of the range
	Thread
	Op       Op
	Domain   uint64 // handle; 0 is the default domain, and each one while no tool is loaded into the program
	Range    uint64 // MarkStart, MarkEnd: id; 0 while no tool is loaded
	Level    int32  // MarkPush, MarkPop: how many ranges are around it, as the library says; negative: it does not
	Category uint32 // the program's own number, 0 none
	Text     string // the message, cut off after MarkTextBytes; empty if there is none, or it could not be read
	Message  uint64 // where the text is in the process's memory, or the handle of a registered text; 0 none
	Handle   bool   // Message is a handle: the text is not known
}

// MarkTextBytes is how much of a message is read: of wide characters a quarter as many.
const MarkTextBytes = 127

// End is the Unix time in ns at which the call returned.
func (m *Mark) End() uint64 { return m.Start + m.Duration }

// Kind is what the call marks.
func (m *Mark) Kind() MarkKind { return m.Op.Mark() }

// MarkKind says what a call marks.
type MarkKind uint8

// The kinds. The names are public: nvtx_marks.kind.
const (
	MarkMoment MarkKind = 1 + iota
	MarkPush            // begins a range of the thread, within the last one that has not ended
	MarkPop             // ends the thread's last range that was pushed
	MarkStart           // begins a range that may end in another thread
	MarkEnd             // ends the range of an id
)

// MarkKinds are all of them.
var MarkKinds = []MarkKind{MarkMoment, MarkPush, MarkPop, MarkStart, MarkEnd}

var markNames = [...]string{"", "mark", "push", "pop", "start", "end"}

// String returns the name used in SQL.
func (k MarkKind) String() string {
	if int(k) < len(markNames) && k > 0 {
		return markNames[k]
	}
	return fmt.Sprintf("mark-%d", uint8(k))
}

// Mark is what a call of the operation marks; 0 if it is a call that does something.
func (o Op) Mark() MarkKind {
	if i := o.Info(); i != nil {
		return i.Mark
	}
	return 0
}

// Marks reports whether the source's operations only mark parts of a program: see [Mark].
func (s Source) Marks() bool { return s == SourceNVTX }
