package event

// Label says what a process worked on: a step, an epoch, a phase. The program says it itself, by the
// tracer's socket (docs/labels.md), not by a call of a library as a [Mark].
type Label struct {
	Arrived   uint64 // Unix ns
	Since     uint64 // Unix ns from which it holds
	Until     uint64 // Unix ns at which it ends; 0: when its key is set again, or the process ends
	PID       uint32
	StartTime uint64 // of the process, in clock ticks since boot; 0: it had ended, or could not be looked up
	Key       string // empty: the process has ended, and all its labels with it
	Value     string // empty: the key has no value any more
	Sender    LabelSender
}

// LabelSender is who sent a label, as the kernel told it when the sender connected.
type LabelSender struct{ PID, UID, GID uint32 }
