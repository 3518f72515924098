package reports

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ingero-io/ingero/bench/agent"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/hollow"
)

// Times of a run. The healthy phase is longer if the tracer attaches while the program runs.
const (
	healthy     = 8 * time.Second
	attachAfter = 5 * time.Second
	faulty      = 10 * time.Second
	starts      = 60 * time.Second // the most that a program takes before its first step, and after its last one
)

// runCase runs a case, and judges what is said of it.
func (w *workshop) runCase(ctx context.Context, x *Result) error {
	if n := max(x.needs, 1); runtime.NumCPU() < n {
		x.Skipped = fmt.Sprintf("needs %d CPUs", n)
		return nil
	}
	p, err := w.prepare(ctx, x)
	if err != nil {
		return err
	}
	defer p.end()
	db := filepath.Join(w.dir, "run.db")
	if w.o.Keep != "" {
		db = filepath.Join(w.o.Keep, strings.NewReplacer(", ", "-", " ", "").Replace(x.title())+".db")
		x.Recording = db
	}
	for _, old := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(db + old) // of an earlier run
	}
	if x.Way == Attached {
		err = p.attached(ctx, w.o.Ingero, db)
	} else {
		err = p.launched(ctx, w.o.Ingero, db)
	}
	if err != nil {
		return err
	}
	x.Slower = p.slower()
	r, err := explain(ctx, w.o.Ingero, db)
	if err != nil {
		return err
	}
	x.Verdict, x.Kind = r.Verdict, firstKind(r)
	if x.Control {
		x.Grade = JudgeControl(r)
		return nil
	}
	x.Grade = x.Truth.Judge(r)
	if err := x.ask(ctx, db); err != nil {
		return err
	}
	return w.moveWindow(ctx, x, r, db)
}

// ask counts the MCP calls after which an agent knows the whole cause.
func (x *Result) ask(ctx context.Context, db string) error {
	all := false
	told, err := agent.Read(ctx, db, func(kind, said string) bool {
		all = x.Truth.Told(kind, said)
		return all
	})
	if err != nil {
		return fmt.Errorf("ask by MCP: %w", err)
	}
	if x.Tokens = told.Tokens(); all {
		x.Calls = len(told.Calls)
	}
	return nil
}

// moved is by how much the window of a recording is moved, to see whether the same is said.
const moved = 3 * time.Second

// moveWindow explains a recording without its first seconds, and without its last ones.
func (w *workshop) moveWindow(ctx context.Context, x *Result, r *report.Report, db string) error {
	for _, window := range [][]string{
		{"--from", unixSeconds(r.Window.FromNS + uint64(moved))}, {"--to", unixSeconds(r.Window.ToNS - uint64(moved))},
	} {
		again, err := explain(ctx, w.o.Ingero, db, window...)
		if err != nil {
			return err
		}
		x.Moved = append(x.Moved, x.Truth.Judge(again))
		x.Same = append(x.Same, firstKind(again) == x.Kind)
	}
	return nil
}

func unixSeconds(ns uint64) string { return strconv.FormatUint(ns/1e9, 10) }

// explain explains a recording, or a part of it, as users do.
func explain(ctx context.Context, ingero, db string, window ...string) (*report.Report, error) {
	cmd := exec.CommandContext(ctx, ingero, append([]string{"explain", "--json", db}, window...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("explain the recording: %w: %s", err, said.String())
	}
	var r report.Report
	if err := json.Unmarshal(out, &r); err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	return &r, nil
}

// program is a case's program, ready to be started.
type program struct {
	args, env []string
	dir       string
	seconds   time.Duration // from the first step to the last one
	ends      bool          // by itself
	printed   bytes.Buffer
	beside    []*exec.Cmd
	mounted   string
}

// limit is the longest time that a run takes.
func (p *program) limit() time.Duration { return p.seconds + starts }

// prepare compiles a case's program, and starts what runs beside it.
func (w *workshop) prepare(ctx context.Context, x *Result) (p *program, err error) {
	shared := filepath.Join(w.dir, "hollow")
	quiet := healthy
	if x.Way == Attached {
		quiet += attachAfter
	}
	p = &program{dir: w.dir, seconds: quiet + faulty, ends: !x.never || x.Control}
	if p.env = hollow.Env(w.gpu, shared); x.torch {
		p.env = w.torch.Env(shared)
	}
	if err := hollow.Set(shared, cmp.Or(x.gpu, "kernel.default=150us")); err != nil {
		return nil, err
	}
	if err := os.MkdirAll("/var/tmp/cases", 0o777); err != nil { // some of them share a file there
		return nil, err
	}
	first, err := w.build(ctx, x, p)
	if err != nil {
		return nil, err
	}
	arguments := x.arguments(quiet)
	if x.slowFS {
		more, err := w.slowFileSystem(ctx, p)
		if err != nil {
			return nil, err
		}
		arguments = append(more, arguments...)
	}
	p.args = append(slices.Clone(first), arguments...)
	if x.beside != nil && !x.Control {
		other := p.command(ctx, slices.Concat(first, x.beside, arguments))
		if err := other.Start(); err != nil {
			return nil, fmt.Errorf("start the second process: %w", err)
		}
		p.beside = append(p.beside, other)
	}
	return p, nil
}

// arguments are those that all programs take, in the two forms that there are.
func (x *Result) arguments(quiet time.Duration) []string {
	seconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
	list := []string{"--healthy", seconds(quiet), "--seed", strconv.Itoa(x.Seed)}
	switch {
	case x.torch && x.Control:
		return append(list, "--fault", "off", "--faulty", seconds(faulty))
	case x.torch:
		return append(list, "--fault", cmp.Or(x.fault, "on"), "--faulty", seconds(faulty))
	case x.Control:
		return append(list, "--fault", seconds(faulty), "--control")
	}
	return append(list, "--fault", seconds(faulty))
}

// build compiles what has to be, and returns the beginning of the command.
func (w *workshop) build(ctx context.Context, x *Result, p *program) ([]string, error) {
	if x.shim != "" {
		lib := filepath.Join(w.dir, strings.TrimSuffix(x.shim, ".c")+".so")
		if err := w.compile(ctx, lib, x.shim, "-fPIC", "-shared"); err != nil {
			return nil, err
		}
		p.env = append(p.env, "LD_PRELOAD="+lib)
	}
	to := filepath.Join(w.dir, "cases", neutral)
	if strings.HasSuffix(x.file, ".c") {
		return []string{to},
			w.compile(ctx, to, x.file, w.gpu+"/libcudart.so.12", w.gpu+"/libcuda.so.1", "-Wl,-rpath,"+w.gpu)
	}
	source, err := os.ReadFile(w.source(x.file))
	if err != nil {
		return nil, err
	}
	to += ".py"
	python := "python3"
	if x.torch {
		python = w.torch.Python
	}
	return []string{python, to}, os.WriteFile(to, source, 0o644)
}

// neutral is the name of all programs: that of a case's file says what is wrong, and a diagnosis that shows the file of
// a frame would say so, too.
const neutral = "workload"

// compile compiles one of the sources.
func (w *workshop) compile(ctx context.Context, to, source string, more ...string) error {
	args := []string{"-O2", "-g", "-w", "-fno-omit-frame-pointer", "-rdynamic", "-pthread", "-o", to, w.source(source)}
	args = append(args, more...)
	if out, err := exec.CommandContext(ctx, "gcc", append(args, "-ldl")...).CombinedOutput(); err != nil {
		return fmt.Errorf("compile %s: %w: %s", source, err, out)
	}
	return nil
}

// slowFileSystem mounts a file system that can be made slow, and returns a program's arguments for it.
func (w *workshop) slowFileSystem(ctx context.Context, p *program) ([]string, error) {
	server := filepath.Join(w.dir, "slowfuse")
	if err := w.compile(ctx, server, "slowfuse.c"); err != nil {
		return nil, err
	}
	files, mount := filepath.Join(w.dir, "files"), filepath.Join(w.dir, "mount")
	if err := errors.Join(os.MkdirAll(files, 0o755), os.MkdirAll(mount, 0o755)); err != nil {
		return nil, err
	}
	cmd := p.command(ctx, []string{server, files, mount, "150", "150", "50"})
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the slow file system: %w", err)
	}
	p.beside, p.mounted = append(p.beside, cmd), mount
	time.Sleep(time.Second) // until it is mounted
	return []string{filepath.Join(mount, "events.out.tfevents.17"), strconv.Itoa(cmd.Process.Pid)}, nil
}

func (p *program) command(ctx context.Context, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// launched runs the program under the tracer.
func (p *program) launched(ctx context.Context, ingero, db string) error {
	ctx, stop := context.WithTimeout(ctx, p.limit())
	defer stop()
	cmd := p.command(ctx, append([]string{ingero, "trace", "--quiet", "--out", db, "--"}, p.args...))
	cmd.Stdout = &p.printed
	if !p.ends {
		return p.interrupted(cmd, p.seconds+attachAfter)
	}
	if out, err := said(cmd, cmd.Run); err != nil {
		return fmt.Errorf("trace the program: %w: %s", err, out)
	}
	return nil
}

// interrupted ends a program that does not end by itself, as its user would.
func (p *program) interrupted(cmd *exec.Cmd, after time.Duration) error {
	out, err := said(cmd, func() error {
		if err := cmd.Start(); err != nil {
			return err
		}
		time.AfterFunc(after, func() { _ = cmd.Process.Signal(os.Interrupt) })
		_ = cmd.Wait() // its exit status is that of the program, which was interrupted
		return nil
	})
	if err != nil {
		return fmt.Errorf("trace the program: %w: %s", err, out)
	}
	return nil
}

// said runs a command, and returns the end of what it wrote to its error output.
func said(cmd *exec.Cmd, run func() error) (string, error) {
	var b bytes.Buffer
	cmd.Stderr = &b
	err := run()
	const most = 2000
	out := b.String()
	return out[max(0, len(out)-most):], err
}

// attached starts the program, and some seconds later the tracer.
func (p *program) attached(ctx context.Context, ingero, db string) error {
	ctx, stop := context.WithTimeout(ctx, p.limit())
	defer stop()
	cmd := p.command(ctx, p.args)
	cmd.Stdout = &p.printed
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the program: %w", err)
	}
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // if it has not ended
		_ = cmd.Wait()
	}()
	if err := p.begun(ctx, cmd.Process.Pid); err != nil {
		return err
	}
	args := []string{ingero, "trace", "--quiet", "--out", db, "--pid", strconv.Itoa(cmd.Process.Pid)}
	if !p.ends {
		args = append(args, "--duration", p.seconds.String())
	}
	tracer := p.command(ctx, args)
	if out, err := said(tracer, tracer.Run); err != nil {
		return fmt.Errorf("trace the program: %w: %s", err, out)
	}
	if p.ends {
		_ = cmd.Wait() // how it ends is not what is judged
	}
	return nil
}

// begun waits until the program has begun its steps and some seconds have passed.
func (p *program) begun(ctx context.Context, pid int) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(attachAfter):
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
		return fmt.Errorf("the program has ended: %s", p.printed.String())
	}
	return nil
}

// slower is by how much steps were longer with the fault, percent, as the program printed it; 0 if it did not.
func (p *program) slower() (pct float64) {
	for line := range strings.Lines(p.printed.String()) {
		var v struct {
			Slower float64 `json:"slower_pct"`
			Longer float64 `json:"longer_percent"`
		}
		if json.Unmarshal([]byte(line), &v) == nil && v.Slower+v.Longer != 0 {
			pct = v.Slower + v.Longer
		}
	}
	return pct
}

// end ends what runs beside the program.
func (p *program) end() {
	if p.mounted != "" {
		_ = syscall.Unmount(p.mounted, syscall.MNT_DETACH)
	}
	for _, c := range p.beside {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait()
	}
}
