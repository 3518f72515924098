package export

import (
	"github.com/ingero-io/ingero/event"
)

// canvas is a file format for timelines. It keeps the first error, which close returns.
type canvas interface {
	// machine names the machine of the following calls, if there are several.
	machine(name string)
	// process and thread name tracks. They are called before anything is drawn on them.
	process(pid uint32, name, command string)
	thread(t event.Thread, name string)
	slice(s *slice)
	mark(m *mark)
	count(c *count)
	band(b *band)
	failed() error // the first error so far
	close() error
}

// lane is one of a thread's tracks.
type lane uint8

const (
	calls lane = iota
	offCPU
	numLanes
)

// slice is a span of a thread's time. Those of one lane nest.
type slice struct {
	event.Thread
	lane       lane
	start, dur uint64 // Unix ns, ns
	name       string
	category   string
	args       []arg
	flow       uint64 // of the arrow that starts here, 0 if there is none
	from       origin // of the arrow that ends here, zero if there is none
}

// origin is the start of an arrow.
type origin struct {
	event.Thread
	at   uint64 // Unix ns
	flow uint64 // of the arrow; not 0
}

// mark is an event without a duration. Those without a thread concern the whole machine.
type mark struct {
	event.Thread
	at       uint64 // Unix ns
	name     string
	category string
	args     []arg
	flow     uint64 // of the arrow that starts here, 0 if there is none
}

// count is a value at a time, of a process or, without one, of the machine.
type count struct {
	pid   uint32
	name  string
	unit  string
	at    uint64 // Unix ns
	value float64
}

// argKind says which field of an arg holds the value.
type argKind uint8

const (
	number  argKind = iota // n
	address                // n, shown in hex
	signed                 // n, as int64
	text                   // s
	real                   // f
)

// arg is a named value of a slice or mark.
type arg struct {
	name string
	kind argKind
	n    uint64
	f    float64
	s    string
}
