package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/lib/commands"
)

// wishes waits for signals. The first one ends the context. With a command, which is then asked to exit, the
// second one closes leave: the command is not waited for. The next one ends this program at once.
func wishes(ctx context.Context, command bool) (ended context.Context, leave <-chan struct{}, stop func()) {
	ended, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	left, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer signal.Stop(signals)
		for _, f := range []func(){cancel, func() { close(left) }} {
			select {
			case <-signals:
				f()
			case <-over:
				return
			}
			if !command {
				return
			}
		}
	}()
	return ended, left, func() {
		close(over)
		cancel()
	}
}

// passOn waits for a command that still runs after tracing, and returns its exit code. err is what ended
// tracing; the command does not end with it.
func (c *console) passOn(ctx context.Context, leave <-chan struct{}, s *agent.Summary, err error) error {
	if err != nil {
		c.program().Report(err)
	}
	code := s.ExitCode
	if p := s.Command; p != nil {
		if !c.waitFor(ctx, leave, p) {
			fmt.Fprintf(c.err, "ingero: %s (%d) runs on\n", clean(p.Name()), p.PID())
			return nil
		}
		code = p.ExitCode()
	}
	if ctx.Err() != nil && (code == signalled+int(syscall.SIGTERM) || code == signalled+int(syscall.SIGINT)) {
		return nil // it did as it was told
	}
	if code == 0 {
		return nil
	}
	return commands.ExitCode(code)
}

// signalled is what a shell adds to the number of the signal that ended a program.
const signalled = 128

// waitFor waits for a program that is no longer traced, and asks it to exit when the user wishes so. It
// returns false if it was left running.
func (c *console) waitFor(ctx context.Context, leave <-chan struct{}, p *agent.Command) bool {
	wish := ctx.Done()
	if ctx.Err() == nil {
		fmt.Fprintf(c.err, "ingero: tracing has ended; waiting for %s (%d)\n", clean(p.Name()), p.PID())
	}
	for {
		select {
		case <-p.Exited():
			return true
		case <-leave:
			return false
		case <-wish:
			wish = nil
			p.Stop()
		}
	}
}
