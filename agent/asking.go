package agent

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

// asking is what the user wishes of the command.
type asking struct {
	at    time.Time       // when it was asked to exit; zero: it was not
	leave <-chan struct{} // Options.Leave from then on: without having asked, there is nothing to leave
	said  bool            // that it takes its time
}

func (a *asking) asked() bool { return !a.at.IsZero() }

// ask asks the command to exit, because the context has ended. It is recorded until it has.
func (r *run) ask() {
	r.drainAll()
	r.ending()
	r.asking.at, r.asking.leave = time.Now(), r.opts.Leave
	r.command.Stop()
}

// sayAfter is how long a program may take to exit without a word about it.
const sayAfter = time.Second

// waiting says once that the command takes its time, and how not to wait for it.
func (a *asking) waiting(log *slog.Logger, c *Command, now time.Time) {
	if a.said || !a.asked() || now.Sub(a.at) < sayAfter {
		return
	}
	a.said = true
	log.Warn("asked "+c.Name()+" to exit, and waiting for it while recording goes on; "+
		"a second Ctrl+C ends the recording and leaves it running", "pid", c.PID())
}

// protect runs a part of the run. If it panics while the command runs, that is an error: the command must
// not be left without the parent that passes on how it ends. Without a command there is nothing to
// protect.
func (r *run) protect(f func() (Summary, error)) (s Summary, err error) {
	defer func() {
		if r.command == nil || r.command.held {
			return
		}
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	return f()
}

// panicked is the error for a panic, with the stack of the caller.
func panicked(p any) error {
	return fmt.Errorf("the tracer ended by a bug; please report it: %v\n%s", p, debug.Stack())
}

// rest is the command if it still runs, else how it ended.
func (r *run) rest() (running *Command, code int) {
	if r.command == nil || r.command.held {
		return nil, 0
	}
	select {
	case <-r.command.exited:
		return nil, r.command.ExitCode()
	default:
		return r.command, 0
	}
}
