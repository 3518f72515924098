// Package intake connects senders of points to the store: a bounded queue, and the goroutine that writes what is in
// it. It writes waiting requests together, so that many small ones cost no more than a few large ones.
package intake

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/store"
)

// Options of a queue.
type Options struct {
	// Rows is how many rows may wait to be written; 0: 250,000.
	Rows int
	// Batch is how many rows are written together at most, unless one request has more; 0: 120,000. DuckDB puts rows
	// beyond 122,880 into a separate row group.
	Batch int
	// Patience is how long a sender waits for room; 0: a second.
	Patience time.Duration
}

func (o Options) withDefaults() Options {
	if o.Rows == 0 {
		o.Rows = 250_000
	}
	if o.Batch == 0 {
		o.Batch = 120_000
	}
	if o.Patience == 0 {
		o.Patience = time.Second
	}
	return o
}

var (
	// ErrFull means that there was no room for a request's rows, while its sender waited. None was stored.
	ErrFull = errors.New("too many points wait to be written")
	// ErrClosed means that the program ends. None of the request's rows was stored.
	ErrClosed = errors.New("echo ends")
)

// Counts are totals of rows since the start.
type Counts struct {
	Kept, Duplicates, Failed, Full int64
	Waiting                        int64 // at present
	Batches                        int64
}

// Queue takes rows and writes them. Close ends it.
type Queue struct {
	options Options
	store   store.Writer

	mu      sync.Mutex // guards what follows
	closed  bool
	waiting []*request
	rows    int           // in the queue or being written
	more    chan struct{} // has an entry if there may be requests
	room    chan struct{} // closed, and replaced, when there is room again

	done chan struct{}

	kept, duplicates, failed, full, batches atomic.Int64
}

// request is a sender's waiting rows.
type request struct {
	rows []row.Row
	done chan error // buffered
}

// New returns a queue in front of a store, and starts its goroutine.
func New(w store.Writer, o Options) *Queue {
	q := &Queue{
		options: o.withDefaults(), store: w, more: make(chan struct{}, 1), room: make(chan struct{}),
		done: make(chan struct{}),
	}
	go q.runQueue()
	return q
}

// Enter returns when the rows are in the queue, or with an error. since is when their sender began to wait. Then stored
// returns when they are stored, or with an error. If its context ends, they may still be stored.
func (q *Queue) Enter(ctx context.Context, since time.Time, rows []row.Row,
) (stored func(context.Context) error, err error) {
	if len(rows) == 0 {
		return func(context.Context) error { return nil }, nil
	}
	r := &request{rows, make(chan error, 1)}
	if err := q.enter(ctx, since, r); err != nil {
		return nil, err
	}
	return r.stored, nil
}

func (r *request) stored(ctx context.Context) error {
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enter waits for room. A request larger than the queue enters when the queue is empty.
func (q *Queue) enter(ctx context.Context, since time.Time, r *request) error {
	patience := time.NewTimer(time.Until(since.Add(q.options.Patience)))
	defer patience.Stop()
	for {
		q.mu.Lock()
		if q.closed {
			q.mu.Unlock()
			return ErrClosed
		}
		if q.rows == 0 || q.rows+len(r.rows) <= q.options.Rows {
			q.rows += len(r.rows)
			q.waiting = append(q.waiting, r)
			q.mu.Unlock()
			q.wake()
			return nil
		}
		room := q.room
		q.mu.Unlock()
		select {
		case <-room:
		case <-patience.C:
			q.full.Add(int64(len(r.rows)))
			return ErrFull
		case <-ctx.Done():
			q.full.Add(int64(len(r.rows)))
			return fmt.Errorf("%w: %w", ErrFull, context.Cause(ctx))
		}
	}
}

func (q *Queue) wake() {
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// runQueue writes until the queue is closed and empty.
func (q *Queue) runQueue() {
	defer close(q.done)
	for {
		batch, closed := q.take()
		if len(batch) > 0 {
			q.write(batch)
			continue
		}
		if closed {
			return
		}
		<-q.more
	}
}

// take takes the next requests to be written.
func (q *Queue) take() (batch []*request, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	rows, n := 0, 0
	for n < len(q.waiting) && (n == 0 || rows+len(q.waiting[n].rows) <= q.options.Batch) {
		rows += len(q.waiting[n].rows)
		n++
	}
	batch, q.waiting = q.waiting[:n:n], q.waiting[n:]
	return batch, q.closed
}

// write writes requests together, and reports the outcome to each.
func (q *Queue) write(batch []*request) {
	rows := batch[0].rows
	if len(batch) > 1 {
		all := 0
		for _, r := range batch {
			all += len(r.rows)
		}
		rows = make([]row.Row, 0, all)
		for _, r := range batch {
			rows = append(rows, r.rows...)
		}
	}
	// Not the context of any request: others wait for the same batch.
	written, err := q.store.Write(context.Background(), rows)
	q.batches.Add(1)
	if err != nil {
		q.failed.Add(int64(len(rows)))
	} else {
		q.kept.Add(int64(written.Rows))
		q.duplicates.Add(int64(written.Duplicates))
	}
	q.mu.Lock()
	q.rows -= len(rows)
	close(q.room)
	q.room = make(chan struct{})
	q.mu.Unlock()
	for _, r := range batch { // after the counts, so that these are right when a sender has its answer
		r.done <- err
	}
	clear(batch) // it is a part of the array of q.waiting, which would keep its rows in memory
}

// Counts returns totals of rows since the start.
func (q *Queue) Counts() Counts {
	q.mu.Lock()
	waiting := q.rows
	q.mu.Unlock()
	return Counts{
		Kept: q.kept.Load(), Duplicates: q.duplicates.Load(), Failed: q.failed.Load(), Full: q.full.Load(),
		Waiting: int64(waiting), Batches: q.batches.Load(),
	}
}

// Close writes the queued rows. Later rows are refused. It may be called twice.
func (q *Queue) Close() {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.room) // wakes those that wait for room
		q.room = make(chan struct{})
	}
	q.mu.Unlock()
	q.wake()
	<-q.done
}
