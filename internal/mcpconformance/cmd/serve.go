package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
)

// served is "ingero mcp --http", running.
type served struct {
	cmd    *exec.Cmd
	url    string
	rest   chan struct{} // closed when its errors have been read
	behind []string
}

var addressLine = regexp.MustCompile(`https?://\S+`)

// serve starts the program at an address of its own choice.
func (t *trial) serve(ctx context.Context, args ...string) (*served, error) {
	s := &served{rest: make(chan struct{})}
	s.cmd = exec.CommandContext(ctx, t.ingero, append([]string{"mcp", "--db", t.db, "--http", "127.0.0.1:0"}, args...)...)
	s.cmd.Env = append(os.Environ(), "HOME="+t.dir)
	errs, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	address := make(chan string, 1)
	go func() {
		defer close(s.rest)
		defer close(address)
		for in := bufio.NewScanner(errs); in.Scan(); {
			s.behind = append(s.behind, in.Text())
			if len(s.behind) == 1 {
				address <- addressLine.FindString(in.Text())
			}
		}
	}()
	if s.url = <-address; s.url == "" {
		return nil, errors.Join(errors.New("the server did not start"), s.end())
	}
	return s, nil
}

// end stops the program and reports whether it ended well.
func (s *served) end() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	<-s.rest
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.Join(s.behind, "\n"))
	}
	return nil
}
