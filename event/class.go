package event

import "fmt"

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

// classWords are the name and the title of each class.
var classWords = [...]struct{ name, title string }{
	RunQueue:  {"runq", "run queue"},
	Throttled: {"throttled", "CPU quota"},
	Futex:     {"futex", "lock"},
	BlockIO:   {"block_io", "disk"},
	Fault:     {"fault", "page fault"},
	Network:   {"network", "network"},
	Pipe:      {"pipe", "pipe"},
	Poll:      {"poll", "poll"},
	Sleep:     {"sleep", "sleep"},
	Ioctl:     {"ioctl", "GPU driver"},
	Other:     {"other", "other wait"},
	OnCPU:     {"on_cpu", "on CPU"},
}

// Classes are all classes in display order: on a CPU first.
func Classes() []Class {
	list := []Class{OnCPU}
	for c := range NumClasses {
		list = append(list, c)
	}
	return list
}

// String returns the name used in SQL columns, JSON and metrics.
func (c Class) String() string {
	if int(c) < len(classWords) {
		return classWords[c].name
	}
	return fmt.Sprintf("class-%d", uint8(c))
}

// Title names the class for people, "run queue".
func (c Class) Title() string {
	if int(c) < len(classWords) {
		return classWords[c].title
	}
	return c.String()
}

// ClassByName is the inverse of String.
func ClassByName(name string) (Class, bool) {
	for i, w := range classWords {
		if w.name == name {
			return Class(i), true
		}
	}
	return 0, false
}
