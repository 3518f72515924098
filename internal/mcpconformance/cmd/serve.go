package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
)

var addressLine = regexp.MustCompile(`https?://\S+`)

// process is a program that serves.
type process struct {
	cmd  *exec.Cmd
	line string // that it was waited for
	said *limited
	rest chan struct{} // closed when all that it says was read
}

// start starts a program, whose home is the trial's folder, and waits until it prints a line with some text.
func (t *trial) start(ctx context.Context, text, program string, args ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, program, args...), said: &limited{}, rest: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), "HOME="+t.dir, "TMPDIR="+t.dir)
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout, p.cmd.Stderr = w, w
	err = p.cmd.Start()
	_ = w.Close() // the process has its own
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	found := make(chan string, 1)
	go func() {
		defer close(p.rest)
		defer close(found)
		in, waiting := bufio.NewReader(r), true
		for {
			line, err := in.ReadString('\n')
			_, _ = io.WriteString(p.said, line)
			if waiting && strings.Contains(line, text) {
				found <- line
				waiting = false
			}
			if err != nil { // the program has ended
				_ = r.Close()
				return
			}
		}
	}()
	if p.line = <-found; p.line == "" {
		return nil, errors.Join(errors.New("the server did not start"), p.end())
	}
	return p, nil
}

// end stops the program and reports whether it ended well.
func (p *process) end() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	<-p.rest
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, *p.said)
	}
	return nil
}

// serve starts "ingero mcp" at an address of its own choice, and returns its URL, too.
func (t *trial) serve(ctx context.Context, args ...string) (p *process, url string, err error) {
	p, err = t.start(ctx, "://", t.ingero, append([]string{"mcp", "--db", t.db, "--http", "127.0.0.1:0"}, args...)...)
	if err != nil {
		return nil, "", err
	}
	return p, addressLine.FindString(p.line), nil
}
