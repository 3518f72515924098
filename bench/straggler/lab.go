package straggler

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/netns"
	"github.com/ingero-io/ingero/internal/rig"
)

// lab is what all runs share.
type lab struct {
	o     *Options
	dir   string // removed at the end
	files cudastub.Files
	nodes [nodes]*netns.Namespace
	runs  int
}

func newLab(ctx context.Context, o *Options) (*lab, error) {
	dir, err := rig.Folder("ingero-straggler-")
	if err != nil {
		return nil, err
	}
	l := &lab{o: o, dir: dir}
	if l.files, err = cudastub.Extract(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	for n := range l.nodes {
		network := fmt.Sprintf("10.214.%d", os.Getpid()%128*nodes+n) // another measurement has others
		if l.nodes[n], err = netns.New(ctx, n, network); err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

func (l *lab) close() {
	for _, n := range l.nodes {
		if n != nil {
			_ = n.Close() // nothing can be done if it stays
		}
	}
	_ = os.RemoveAll(l.dir) // a temporary folder: the system clears what is left
}

// program is a program of the fleet.
type program struct {
	cmd  *exec.Cmd
	stop func() error

	mu    sync.Mutex // guards lines
	lines []string   // that it printed so far
	wake  chan struct{}
}

// start starts a program, in a node's namespace if one is given.
func (l *lab) start(ctx context.Context, in *netns.Namespace, args ...string) (*program, error) {
	name := filepath.Base(args[0])
	if in != nil {
		args = in.In(args...)
	}
	p := &program{wake: make(chan struct{}, 1)}
	p.cmd = exec.CommandContext(ctx, args[0], args[1:]...)
	p.cmd.Env = append(os.Environ(), "HOME="+l.dir, "INGERO_FLEET_TOKEN=")
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 20 * time.Second
	r, w := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = w, w
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	var read sync.WaitGroup
	read.Go(func() { p.readOutput(r) })
	p.stop = sync.OnceValue(func() error {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		err := p.cmd.Wait()
		_ = w.Close()
		read.Wait()
		var exit *exec.ExitError
		if errors.As(err, &exit) && !exit.Exited() { // by the signal, or killed
			return nil
		}
		if err != nil {
			return fmt.Errorf("end %s: %w", name, err)
		}
		return nil
	})
	return p, nil
}

func (p *program) readOutput(r io.Reader) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if line := s.Text(); !strings.Contains(line, `"type":"second"`) && !strings.Contains(line, `"type":"call"`) {
			p.mu.Lock()
			p.lines = append(p.lines, line)
			p.mu.Unlock()
		}
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
	_, _ = io.Copy(io.Discard, r) // a line that is too long ends the scanner
}

// printed is what it printed so far.
func (p *program) printed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.lines...)
}

// patience is how long is waited for what a program prints when it starts.
const patience = 60 * time.Second

// after waits until a text was printed, and returns the rest of its line.
func (p *program) after(ctx context.Context, text string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		for _, line := range p.printed() {
			if _, rest, ok := strings.Cut(line, text); ok {
				return rest, nil
			}
		}
		select {
		case <-p.wake:
		case <-ctx.Done():
			return "", fmt.Errorf("%s did not print %q: %s", p.cmd.Args, text, strings.Join(p.printed(), "\n"))
		}
	}
}
