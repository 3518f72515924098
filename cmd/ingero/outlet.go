package main

import (
	"bytes"
	"io"
	"sync"
)

// outlet writes lines in the background. Who reads them may pause: a pipe that nobody empties, a terminal
// stopped with Ctrl+S. Tracing goes on meanwhile, as calls would be lost if it waited.
type outlet struct {
	to     io.Writer
	failed func() // called once, if a line cannot be written

	mu      sync.Mutex // guards the rest
	more    sync.Cond  // there are lines to write, or no more will come
	lines   [][]byte
	bytes   int    // in lines
	dropped uint64 // lines that were not written, as too many waited
	ended   bool
	err     error // the first, usually a closed pipe
	done    chan struct{}
}

// maxWaiting is how many bytes of lines may wait for their reader: some thousand lines.
const maxWaiting = 1 << 20

func newOutlet(to io.Writer, failed func()) *outlet {
	o := &outlet{to: to, failed: failed, done: make(chan struct{})}
	o.more.L = &o.mu
	go o.write()
	return o
}

// print hands over a line without waiting. It is dropped and counted if too many wait already, unless
// it must be told.
func (o *outlet) print(line []byte, must bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err != nil || o.ended:
	case !must && o.bytes+len(line) > maxWaiting:
		o.dropped++
	default:
		o.lines = append(o.lines, bytes.Clone(line))
		o.bytes += len(line)
		o.more.Signal()
	}
}

// lost is how many lines were dropped so far.
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
	return o.err // nobody writes it any more
}

func (o *outlet) write() {
	defer close(o.done)
	for {
		line := o.next()
		if line == nil {
			return
		}
		if _, err := o.to.Write(line); err != nil {
			o.mu.Lock()
			o.err, o.lines = err, nil
			o.mu.Unlock()
			o.failed()
			return
		}
	}
}

// next is the first line that waits; nil if none will come.
func (o *outlet) next() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.lines) == 0 {
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
