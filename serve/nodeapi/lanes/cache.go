package lanes

import (
	"context"
	"sync"
	"time"

	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
)

const (
	// stepTime is about how long one request may read the recording; the next one continues.
	stepTime = 200 * time.Millisecond
	// A recording that grows is read again from time to time, for rows that were written late
	// or deleted; seldom enough to take at most a twentieth of a CPU.
	rebuildAfter = 30 * time.Second
	rebuildShare = 20
	// keepFor is the time without requests after which the memory is released.
	keepFor = 5 * time.Minute
)

// Cache keeps the pyramid of one recording while there are requests. The zero value is empty.
type Cache struct {
	turn  chan struct{} // holds one entry; the goroutine that put it in may use the other fields
	once  sync.Once
	state string   // state of the recording when cur was read
	who   identity // identifies the recording
	cur   *Pyramid
	next  *Pyramid // being read, to replace cur
	built time.Time
	took  time.Duration // to read next so far
	whole time.Duration // to read cur
	idle  *time.Timer
	limit int // cells; 0: maxCells
}

// identity distinguishes a recording from another one in the same file.
type identity struct {
	session  uint64 // start of the first
	machines int
}

// Use calls f with the pyramid of a recording. state changes with the recording; empty if unknown.
// f must not keep the pyramid.
func (c *Cache) Use(
	ctx context.Context, state string, sum *store.Summary, rec store.Reader, f func(*Pyramid, []store.Reader) error,
) error {
	c.once.Do(func() { c.turn = make(chan struct{}, 1) })
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	if err := ctx.Err(); err != nil { // both channels may have been ready
		return err
	}
	machines, done, err := recording.Machines(ctx, rec)
	if err != nil {
		return err
	}
	defer done()
	if err := c.refresh(ctx, state, sum, machines); err != nil {
		return err
	}
	c.forgetLater()
	p := c.cur
	if p == nil {
		p = c.next
	}
	return f(p, machines)
}

func (c *Cache) refresh(ctx context.Context, state string, sum *store.Summary, machines []store.Reader) error {
	who := identity{machines: len(machines)}
	if len(sum.Sessions) > 0 {
		who.session = sum.Sessions[0].Started
	}
	if who != c.who {
		c.cur, c.next = nil, nil
	}
	changed := state == "" || state != c.state
	due := time.Since(c.built) > max(rebuildAfter, rebuildShare*c.whole)
	if c.next == nil && (c.cur == nil || changed && due) {
		limit := c.limit
		if limit == 0 {
			limit = maxCells
		}
		c.next, c.took = newPyramid(len(machines), limit), 0
	}
	c.who = who
	settled := settledAt(sum)
	if c.cur != nil && (changed || !c.cur.done) {
		if err := c.cur.extend(ctx, machines, settled, stepTime); err != nil {
			c.cur = nil // it is incomplete
			return err
		}
	}
	c.state = state
	if c.next == nil {
		return nil
	}
	start := time.Now()
	if err := c.next.extend(ctx, machines, settled, stepTime); err != nil {
		c.next = nil
		return err
	}
	if c.took += time.Since(start); c.next.done {
		c.cur, c.next, c.built, c.whole = c.next, nil, time.Now(), c.took
	}
	return nil
}

// settledAt is the time before which no more rows are expected. Another session may follow one that
// has stopped, but begins after it.
func settledAt(sum *store.Summary) uint64 {
	if n := len(sum.Sessions); n == 0 || sum.Sessions[n-1].Stopped != 0 {
		return sum.Last + 1
	}
	return sum.Last - min(sum.Last, unsettled)
}

// forgetLater releases the memory when there are no more requests.
func (c *Cache) forgetLater() {
	if c.idle != nil {
		c.idle.Stop()
	}
	c.idle = time.AfterFunc(keepFor, func() {
		c.turn <- struct{}{}
		c.cur, c.next = nil, nil
		<-c.turn
	})
}
