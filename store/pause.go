package store

import "github.com/ingero-io/ingero/event"

// Pause is a stretch of time in which a recording could not be written, though the tracer ran. It has no rows of
// that time, but names, what began and ended, and exact statistics as far as they had room in memory.
type Pause struct {
	From, To uint64 // Unix ns
	Why      string // "the disk was full"
}

// Loss is what could not be recorded in a second.
type Loss struct {
	At uint64 // Unix ns at which the second begins
	event.Loss
}

// Unwritten is the error of a Writer that cannot write for now. It may be tried again later: what was flushed
// before is kept, and so are names and exact statistics.
type Unwritten struct {
	Why string // in words that follow "not recorded from … to …: "
	Err error
}

func (u *Unwritten) Error() string { return u.Err.Error() }

func (u *Unwritten) Unwrap() error { return u.Err }
