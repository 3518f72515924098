package soak

import (
	"bufio"
	"context"
	_ "embed" // for the program
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"

	"github.com/ingero-io/ingero/internal/cudastub"
)

//go:embed steady/steady.c
var steadySource []byte

// steadyBehaviour is what its calls take.
const steadyBehaviour = "cudaLaunchKernel:spin=5us;cudaMemcpyAsync:spin=20us;cudaStreamSynchronize:sleep=500us"

// steady is the program that counts for itself. No churn touches it.
type steady struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{}
	err   error // after ended

	mu      sync.Mutex
	seconds []second
}

// startSteady compiles it with gcc, and starts it.
func startSteady(ctx context.Context, dir string, files cudastub.Files) (*steady, error) {
	source, program := filepath.Join(dir, "steady.c"), filepath.Join(dir, "steady")
	if err := os.WriteFile(source, steadySource, 0o644); err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, "gcc", "-O1", "-Wall", "-Werror", "-o", program, source, "-L"+files.LibDir,
		"-Wl,-rpath-link,"+files.LibDir, "-l:libcudart.so.12").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("compile the steady program: %w: %s", err, out)
	}
	s := &steady{cmd: exec.Command(program), ended: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+files.LibDir, "CUDASTUB="+steadyBehaviour)
	s.cmd.Stderr = os.Stderr
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	lines, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the steady program: %w", err)
	}
	go s.readLines(lines)
	return s, nil
}

func (s *steady) readLines(lines io.Reader) {
	defer close(s.ended)
	for in := bufio.NewScanner(lines); in.Scan(); {
		var x second
		if _, err := fmt.Sscanf(in.Text(), "second %d %d %d %d", &x.unix, &x.steps, &x.calls, &x.excessNS); err == nil {
			s.mu.Lock()
			s.seconds = append(s.seconds, x)
			s.mu.Unlock()
		}
	}
	s.err = s.cmd.Wait()
}

// counted is what it has counted so far.
func (s *steady) counted() []second {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seconds)
}

// stop ends it, and says how it was harmed, if it was.
func (s *steady) stop() error {
	select {
	case <-s.ended:
		return fmt.Errorf("the steady program had ended: %w", errors.Join(s.err, errors.New("nobody had asked it to")))
	default:
	}
	_ = s.stdin.Close() // fails only if it is gone, which is seen below
	<-s.ended
	if s.err != nil {
		return fmt.Errorf("the steady program: %w", s.err)
	}
	return nil
}
