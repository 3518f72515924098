package main

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"syscall"
)

// outlet writes lines in the background. Its reader may pause: a pipe that is not read, a terminal
// stopped with Ctrl+S. Tracing must continue, as waiting would lose calls.
type outlet struct {
	to     io.Writer
	failed func() // called once, if nobody reads any more

	mu      sync.Mutex // guards the rest
	more    sync.Cond  // there are lines to write, or the end was reached
	lines   [][]byte
	bytes   int    // in lines
	dropped uint64 // lines that were not written, as too many were waiting
	full    bool   // the first line could not be written for now
	stalled bool   // the same, and it was not tried again yet
	ended   bool
	err     error // the first that is not for now, usually a closed pipe
	done    chan struct{}
}

// maxWaiting is how many bytes of lines may wait: some thousand lines. Required ones may take as much again
// while none can be written.
const maxWaiting = 1 << 20

func newOutlet(to io.Writer, failed func()) *outlet {
	o := &outlet{to: to, failed: failed, done: make(chan struct{})}
	o.more.L = &o.mu
	go o.write()
	return o
}

// print adds a line without blocking. If too many are waiting, the line is dropped and counted,
// unless it is required.
func (o *outlet) print(line []byte, must bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err != nil || o.ended:
	case !must && o.bytes+len(line) > maxWaiting, o.full && o.bytes+len(line) > 2*maxWaiting:
		o.dropped++
	default:
		o.stalled = false // it is tried again
		o.lines = append(o.lines, bytes.Clone(line))
		o.bytes += len(line)
		o.more.Signal()
	}
}

// lost is the number of lines dropped so far.
func (o *outlet) lost() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dropped
}

// close waits until all lines are written, and returns the first error.
func (o *outlet) close() error {
	o.mu.Lock()
	o.ended = true
	o.more.Signal()
	o.mu.Unlock()
	<-o.done
	return o.err // the writing goroutine has ended
}

func (o *outlet) write() {
	defer close(o.done)
	for {
		line := o.next()
		if line == nil {
			return
		}
		n, err := o.to.Write(line)
		if err != nil && forNow(err) && o.putBack(line[n:]) {
			continue
		}
		if err != nil {
			o.mu.Lock()
			o.err, o.lines = err, nil
			o.mu.Unlock()
			o.failed()
			return
		}
		o.mu.Lock()
		o.full = false
		o.mu.Unlock()
	}
}

// putBack makes the rest of a line that could not be written the first one again. False: it was the last try.
func (o *outlet) putBack(rest []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return false
	}
	o.lines = append([][]byte{rest}, o.lines...)
	o.bytes += len(rest)
	o.full, o.stalled = true, true
	return true
}

// forNow reports whether a file that cannot be written may be written later.
func forNow(err error) bool {
	for _, e := range []error{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EIO, syscall.EROFS, syscall.ESTALE,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// next is the first waiting line; nil at the end.
func (o *outlet) next() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.lines) == 0 || o.stalled && !o.ended {
		if o.ended {
			return nil
		}
		o.more.Wait()
	}
	line := o.lines[0]
	o.lines = o.lines[1:]
	o.bytes -= len(line)
	return line
}
