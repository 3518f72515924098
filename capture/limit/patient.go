package limit

import (
	"errors"
	"sync/atomic"
	"time"
)

// Patient bounds the time for what may never return: a page of a process's memory, or a file that it maps, may be
// provided by a file system or a program that does not answer (FUSE, userfaultfd, NFS). While one such call has not
// returned, no other is begun.
type Patient struct {
	Wait time.Duration // for a call

	busy atomic.Bool
}

// ErrNoAnswer says that a call did not return in time, or was not begun because an earlier one has not returned.
var ErrNoAnswer = errors.New("a file system or a process does not answer")

// Stuck reports whether a call has not returned in time so far.
func (p *Patient) Stuck() bool { return p.busy.Load() }

// Within calls f in a goroutine of its own, and returns what it does, or ErrNoAnswer after p.Wait. Then late, if it is
// not nil, gets the value when f returns after all; f must touch nothing that the caller uses meanwhile. Within is for
// one goroutine of each Patient.
func Within[T any](p *Patient, f func() (T, error), late func(T)) (T, error) {
	type result struct {
		v   T
		err error
	}
	var none T
	if p.busy.Load() {
		return none, ErrNoAnswer
	}
	p.busy.Store(true)
	var over atomic.Bool // one side has taken the result, or given it up
	done := make(chan result, 1)
	go func() {
		v, err := f()
		if over.CompareAndSwap(false, true) {
			p.busy.Store(false)
			done <- result{v, err}
			return
		}
		if err == nil && late != nil {
			late(v)
		}
		p.busy.Store(false)
	}()
	wait := time.NewTimer(p.Wait)
	defer wait.Stop()
	select {
	case r := <-done:
		return r.v, r.err
	case <-wait.C:
	}
	if over.CompareAndSwap(false, true) {
		return none, ErrNoAnswer
	}
	r := <-done
	return r.v, r.err
}
