package event

import (
	"cmp"
	"fmt"
)

// Class says where a thread's time went while it was not on a CPU. The order is
// the order of the wire record's ledger (capture/bpf/include/event.h) and append-only.
type Class uint8

// The classes.
const (
	RunQueue  Class = iota // runnable, another task had the CPU
	Throttled              // runnable, its cgroup was out of CPU quota
	Futex                  // blocked on a futex: mutex, condition variable, GIL
	BlockIO                // blocked on a block device or a file system
	Fault                  // blocked in a page fault
	Network                // blocked in a socket call
	Pipe                   // blocked on a pipe, eventfd or System V/POSIX queue
	Poll                   // blocked in poll, select or epoll
	Sleep                  // asleep by request: nanosleep, pause
	Ioctl                  // blocked in an ioctl, as GPU drivers wait
	Other                  // blocked in anything else
	NumClasses
	// OnCPU is what is left of a duration after its ledger: time on a CPU.
	// It is derived, never recorded, and therefore not below NumClasses.
	OnCPU = NumClasses
)

// words are the words for a class, with a column for each form that texts need, and the kind of cause. For an empty
// column see the function that reads it.
type words struct{ name, title, cause, did, delayed, wait, blocked, idle string }

var classWords = [...]words{
	RunQueue: {
		name: "runq", title: "run queue", cause: CauseCPUContention, did: "waited for a CPU", wait: "a CPU",
	},
	Throttled: {
		name: "throttled", title: "CPU quota", cause: CauseCPUThrottled, did: "was throttled",
		delayed: "was held back by its CPU quota", wait: "CPU quota",
	},
	Futex: {
		name: "futex", title: "lock", cause: CauseLockContention, did: "waited for locks",
		idle: "condition: no work was handed over",
	},
	BlockIO: {
		name: "block_io", title: "disk", cause: CauseBlockIO, did: "waited for the disk", wait: "block I/O",
		blocked: "a disk" + ofFile,
	},
	Fault: {
		name: "fault", title: "page fault", cause: CausePageFault, did: "waited in page faults", wait: "page faults",
		blocked: "a page fault",
	},
	Network: {
		name: "network", title: "network", cause: CauseNetworkWait, did: "waited for sockets",
		blocked: "a socket" + ofFile, idle: "socket: nothing was received",
	},
	Pipe: {
		name: "pipe", title: "pipe", cause: CausePeerWait, did: "waited for pipes",
		blocked: "a pipe or event" + ofFile, idle: "pipe: nothing was written to it",
	},
	Poll: {
		name: "poll", title: "poll", did: "polled", blocked: "poll" + ofFile, idle: "poll: no request or event came",
	},
	Sleep: {
		name: "sleep", title: "sleep", did: "slept", delayed: "had asked to sleep",
		blocked: "a timer: it sleeps by request", idle: "sleep: it had asked to sleep",
	},
	Ioctl: {
		name: "ioctl", title: "GPU driver", did: "waited for the GPU driver", blocked: "the driver (ioctl" + ofFile + ")",
	},
	Other: {name: "other", title: "other wait", did: "waited", blocked: "something else" + ofFile},
	OnCPU: {name: "on_cpu", title: "on CPU", did: "ran"},
}

// ofFile is where the file behind the descriptor stands that a thread is blocked on.
const ofFile = "%s"

// Classes are all classes in display order: on a CPU first.
func Classes() []Class {
	list := []Class{OnCPU}
	for c := range NumClasses {
		list = append(list, c)
	}
	return list
}

func (c Class) words() (w words) {
	if int(c) < len(classWords) {
		w = classWords[c]
	}
	return w
}

// String returns the name used in SQL columns, JSON and metrics.
func (c Class) String() string {
	if int(c) < len(classWords) {
		return classWords[c].name
	}
	return fmt.Sprintf("class-%d", uint8(c))
}

// Title names the class for people, "run queue".
func (c Class) Title() string { return cmp.Or(c.words().title, c.String()) }

// Cause returns the kind of cause of time that a rank loses like this; empty: there is none, it may be all well.
func (c Class) Cause() string { return c.words().cause }

// Did says what a thread did during such time, in words that follow its name: "waited for locks".
func (c Class) Did() string { return c.words().did }

// Delayed says what kept a rank from its next collective operation, in words that follow "it".
func (c Class) Delayed() string { return cmp.Or(c.words().delayed, c.Did()) }

// Wait names such a wait as a step of a chain: "page faults".
func (c Class) Wait() string { return cmp.Or(c.words().wait, c.String()) }

// Idle says where a thread without work waits, and what did not come; empty: threads do not wait for work like this.
func (c Class) Idle() string { return c.words().idle }

// ClassByName is the inverse of String.
func ClassByName(name string) (Class, bool) {
	for i, w := range classWords {
		if w.name == name {
			return Class(i), true
		}
	}
	return 0, false
}
