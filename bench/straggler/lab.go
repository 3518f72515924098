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
	"github.com/ingero-io/ingero/internal/rig"
)

// lab is what all runs share.
type lab struct {
	o     *Options
	dir   string // removed at the end
	files cudastub.Files
	nodes [nodes]namespace
	runs  int
}

// namespace is a node: a network namespace with a link to the server's.
type namespace struct{ name, link, address string }

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
		if l.nodes[n], err = newNamespace(ctx, n); err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

func (l *lab) close() {
	for _, n := range l.nodes {
		if n.name != "" {
			_ = ip(context.Background(), "netns", "delete", n.name) // with its link; nothing can be done if it stays
		}
	}
	_ = os.RemoveAll(l.dir) // a temporary folder: the system clears what is left
}

func newNamespace(ctx context.Context, n int) (ns namespace, err error) {
	id := fmt.Sprintf("%d%c", os.Getpid()%100_000, 'a'+n)
	network := fmt.Sprintf("10.214.%d", os.Getpid()%128*nodes+n) // another measurement has others
	ns = namespace{name: "ingero-" + id, link: "ig" + id, address: network + ".1"}
	for _, args := range [][]string{
		{"netns", "add", ns.name},
		{"link", "add", ns.link, "type", "veth", "peer", "name", "eth0", "netns", ns.name},
		{"address", "add", ns.address + "/24", "dev", ns.link},
		{"link", "set", ns.link, "up"},
		{"-n", ns.name, "address", "add", network + ".2/24", "dev", "eth0"},
		{"-n", ns.name, "link", "set", "eth0", "up"},
	} {
		if err := ip(ctx, args...); err != nil {
			_ = ip(ctx, "netns", "delete", ns.name) // it may not exist
			return namespace{}, fmt.Errorf("make a node: %w", err)
		}
	}
	return ns, nil
}

// connect takes the node's link up or down.
func (n *namespace) connect(ctx context.Context, up bool) error {
	state := map[bool]string{true: "up", false: "down"}[up]
	return ip(ctx, "link", "set", n.link, state)
}

func ip(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
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
func (l *lab) start(ctx context.Context, in *namespace, args ...string) (*program, error) {
	name := filepath.Base(args[0])
	if in != nil {
		args = append([]string{"ip", "netns", "exec", in.name}, args...)
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
	read.Go(func() { p.read(r) })
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

func (p *program) read(r io.Reader) {
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
