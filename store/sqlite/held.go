package sqlite

import "github.com/ingero-io/ingero/store"

// rowWriter writes the rows of a kind.
type rowWriter interface {
	// insert inserts a batch's rows into the transaction, and those that are held.
	insert(b *store.Batch) error
	// skip holds a batch's rows, or returns how many are lost.
	skip(b *store.Batch) (lost uint64)
	committed()  // what was inserted is on disk
	rolledBack() // what was inserted is not there any more
}

// kindWriter is the rowWriter of a kind.
type kindWriter[T any] struct {
	w          *Writer
	kind       *kind[T]
	statements []*boundStmt
	held       []T // rows that are not committed, if the kind holds them
	inserted   int // how many of them are in the transaction, the first ones
}

// maxHeld bounds the rows of a kind that are held. They have some 100 bytes each.
const maxHeld = 4096

func (k *kindWriter[T]) insert(b *store.Batch) error {
	rows := k.kind.of(b)
	if k.kind.hold != nil {
		k.w.txRows += k.skip(b)
		rows = k.held[k.inserted:]
	} else {
		k.w.txRows += uint64(len(rows))
	}
	for i := range rows {
		if err := k.kind.insert(k.w, k.statements, &rows[i]); err != nil {
			return err
		}
	}
	k.inserted = len(k.held)
	return nil
}

func (k *kindWriter[T]) skip(b *store.Batch) (lost uint64) {
	rows := k.kind.of(b)
	if k.kind.hold == nil {
		return uint64(len(rows))
	}
	for i := range rows {
		if len(k.held) >= maxHeld {
			lost++
			continue
		}
		k.held = append(k.held[:k.inserted], k.kind.hold(k.held[k.inserted:], &rows[i])...)
	}
	return lost
}

func (k *kindWriter[T]) committed() {
	k.held, k.inserted = k.held[:0], 0
	if cap(k.held) > maxHeld/4 {
		k.held = nil
	}
}

func (k *kindWriter[T]) rolledBack() { k.inserted = 0 }

// keepEach holds every row.
func keepEach[T any](held []T, v *T) []T { return append(held, *v) }
