package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/hostile/elffile"
)

// traced is a tracer of the whole machine that meets hostile processes.
type traced struct {
	p       *Programs
	dir     string
	process *process
	files   cudastub.Files
	db      string // the recording
	metrics string // its address for Prometheus
	seen    func(ctx context.Context) error
	attacks func() ([]Attack, error)
	try     func(ctx context.Context, a Attack) (Outcome, error)
	// after are command lines whose output is read at the end, as a user would on a terminal.
	after [][]string
}

func (t *traced) Attacks() ([]Attack, error) { return t.attacks() }

func (t *traced) Try(ctx context.Context, a Attack) (Outcome, error) { return t.try(ctx, a) }

func (t *traced) Healthy(ctx context.Context) error {
	if err := t.process.alive(); err != nil {
		return err
	}
	return t.seen(ctx)
}

// scraped is the URL of its metrics.
func (t *traced) scraped() string { return "http://" + t.metrics + metricsPath }

func (t *traced) Peak() uint64 { return t.process.memory.since() }

func (t *traced) Close() (uint64, string, error) {
	peak, printed, err := t.process.close()
	for _, args := range t.after {
		_, said, again := oneShot(context.Background(), t.dir, t.p.path("ingero"), args...)
		if again != nil {
			err = errors.Join(err, fmt.Errorf("ingero %s: %w: %s", args[0], again, shown(said)))
		}
		printed += said
	}
	return peak, printed, err
}

// startTraced starts a tracer of the whole machine, and waits until it traces.
func startTraced(ctx context.Context, p *Programs, name string, args ...string) (*traced, error) {
	dir, err := p.home(name)
	if err != nil {
		return nil, err
	}
	t := &traced{p: p, dir: dir, db: filepath.Join(dir, "traced.db")}
	if t.files, err = cudastub.Extract(filepath.Join(dir, "stub")); err != nil {
		return nil, err
	}
	if t.metrics, err = freeAddress(); err != nil {
		return nil, err
	}
	t.seen = func(ctx context.Context) error { return get(ctx, nil, t.scraped()) }
	args = append([]string{"trace", "--quiet", "--db", t.db, "--prometheus", t.metrics}, args...)
	t.process, err = start(ctx, dir, p.path("ingero"), args...)
	if err != nil {
		return nil, err
	}
	if err := until(ctx, t.process, "the tracer", func() bool { return t.seen(ctx) == nil }); err != nil {
		_, _, _ = t.process.close()
		return nil, err
	}
	return t, nil
}

// startNames runs programs, and libraries in folders, with hostile names.
func startNames(ctx context.Context, p *Programs) (Trier, error) {
	t, err := startTraced(ctx, p, "names")
	if err != nil {
		return nil, err
	}
	t.attacks = func() ([]Attack, error) { return List("name") }
	t.try = t.named
	t.after = [][]string{
		{"explain", t.db, "--per-process"},
		{"explain", t.db, "--json"},
		{"query", t.db, "select * from processes"},
		{"query", t.db, "select * from libraries"},
	}
	return t, nil
}

// named runs a program of a name, which makes calls of a library in a folder of the same name.
func (t *traced) named(ctx context.Context, a Attack) (Outcome, error) {
	name := strings.NewReplacer("/", "_", "\x00", "_").Replace(string(a.Input))
	folder := filepath.Join(t.dir, name)
	files, err := cudastub.Extract(folder)
	if err != nil {
		return Outcome{}, err
	}
	defer os.RemoveAll(folder)
	program := filepath.Join(folder, name)
	if err := os.Rename(files.Victim, program); err != nil {
		return Outcome{}, err
	}
	files.Victim = program
	v, err := files.Start(ctx, cudastub.Options{})
	if err != nil {
		return Outcome{}, err
	}
	defer func() { _ = v.Close() }() // how it ends says nothing
	for _, command := range []string{"call cudaLaunchKernel 50", "call cudaDeviceSynchronize 3"} {
		if _, err := v.Do(command); err != nil {
			return Outcome{}, err
		}
	}
	_, said, err := oneShot(ctx, t.dir, t.p.path("ingero"), "check", "--coverage")
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		err = nil // it found that something is missing on this machine, which it says
	}
	return Outcome{Said: said, Text: true}, err
}

// startSockets attacks the sockets of a tracer.
func startSockets(ctx context.Context, p *Programs) (Trier, error) {
	dir, err := p.home("sockets")
	if err != nil {
		return nil, err
	}
	labels, events := filepath.Join(dir, "labels.sock"), filepath.Join(dir, "events.sock")
	t, err := startTraced(ctx, p, "sockets", "--annotate="+labels, "--events="+events, "--fleet", "127.0.0.1:1")
	if err != nil {
		return nil, err
	}
	scraped := t.seen
	t.seen = func(ctx context.Context) error { return errors.Join(scraped(ctx), labelled(ctx, t.process, labels)) }
	t.attacks = func() ([]Attack, error) {
		list, err := List("label")
		return append(list, short(list)...), err // once more: to the socket of events, which reads nothing
	}
	tried := map[string]bool{}
	t.try = func(ctx context.Context, a Attack) (Outcome, error) {
		path := labels
		if tried[a.Name] {
			path = events
		}
		tried[a.Name] = true
		clients := 1
		if rest, ok := bytes.CutPrefix(a.Input, []byte("Clients: 300\n")); ok {
			a.Input, clients = rest, 300
		}
		r := request{raw: true, clients: clients, bytes: a.Input}
		_, err := r.send(ctx, map[string]string{"": unixAddress + path})
		return Outcome{}, err
	}
	t.after = [][]string{{"explain", t.db}, {"query", t.db, "select * from labels"}}
	return t, nil
}

// labelled sets a label, as a program does that means no harm. It may have to wait until attackers are out of the way.
func labelled(ctx context.Context, p *process, path string) error {
	return until(ctx, p, "a place at the socket of labels", func() bool {
		c, err := (&request{}).dial(ctx, unixAddress+path)
		if err != nil {
			return false
		}
		_, err = io.WriteString(c, `{"labels": {"step": 1}}`+"\n")
		return errors.Join(err, c.Close()) == nil
	})
}

// startLibraries has processes map files that mean harm, under the name of the CUDA runtime. They stay mapped until the
// end, when the tracer must still record what an honest program calls.
func startLibraries(ctx context.Context, p *Programs) (Trier, error) {
	t, err := startTraced(ctx, p, "libraries")
	if err != nil {
		return nil, err
	}
	all := elffile.Attacks()
	t.attacks = func() ([]Attack, error) {
		list := make([]Attack, len(all))
		for i := range all {
			list[i].Name = all[i].Name
		}
		return list, nil
	}
	l := &libraries{traced: t}
	t.try = func(ctx context.Context, a Attack) (Outcome, error) {
		i := slices.IndexFunc(all, func(f elffile.Attack) bool { return f.Name == a.Name })
		path := filepath.Join(t.dir, fmt.Sprint("attack-", i), "libcudart.so.12")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return Outcome{}, err
		}
		if err := all[i].Write(path); err != nil {
			return Outcome{}, err
		}
		end, err := mapped(ctx, path)
		if err == nil {
			l.ends = append(l.ends, end)
		}
		return Outcome{}, err
	}
	return l, nil
}

// libraries is a tracer, and the processes that have mapped hostile files.
type libraries struct {
	*traced
	ends []func() error
}

func (l *libraries) Close() (uint64, string, error) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	err := l.honest(ctx, 1)
	for _, end := range l.ends {
		err = errors.Join(err, end())
	}
	peak, printed, again := l.traced.Close()
	return peak, printed, errors.Join(err, again)
}

// honest runs a program until so many of its calls are recorded.
func (t *traced) honest(ctx context.Context, calls int) error {
	v, err := t.files.Start(ctx, cudastub.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = v.Close() }() // how it ends says nothing
	query := fmt.Sprintf("select count(*) >= %d as enough from cuda_events where pid = %d", calls, v.PID())
	return until(ctx, t.process, "the calls of an honest program", func() bool {
		if _, err := v.Do(fmt.Sprint("call cudaLaunchKernel ", max(10, calls))); err != nil {
			return false
		}
		_, said, err := oneShot(ctx, t.dir, t.p.path("ingero"), "query", t.db, "--format", "csv", query)
		return err == nil && !strings.HasSuffix(strings.TrimSpace(said), "\n0")
	})
}

// mapArgument is the first argument of this program when it maps a file for the tracer to see.
const mapArgument = "map-executable"

// Main is what a helper process of Run does; it returns false if this is none.
func Main(args []string) bool {
	if len(args) != 3 || args[1] != mapArgument {
		return false
	}
	if err := mapFile(args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("mapped")
	_, _ = io.Copy(io.Discard, os.Stdin) // until its input ends
	return true
}
