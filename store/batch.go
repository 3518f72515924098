package store

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/lists"
)

// Batch is the result of one drain of the ring buffers. The caller may reuse its slices after Write
// returns.
type Batch struct {
	Tables
	Ended     []uint32 // processes from which no more calls come in later batches; not the same as ends in Lives
	Reused    []Reuse  // processes whose end nobody reported
	Stacks    []event.Stack
	Footprint *event.Footprint // nil: nothing changed
}

// Reset empties the batch and keeps the memory of its slices.
func (b *Batch) Reset() { lists.Reset(b) }

// Empty reports whether the batch has no records.
func (b *Batch) Empty() bool { return lists.Len(b) == 0 }
