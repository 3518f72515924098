// Command cmd leaves the tracer running beside everything that happens on a machine, and says whether it stayed as it
// was; "make soak" calls it. The process that was started only watches: the soak runs in a mount namespace of its own,
// and whatever it leaves is ended.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/bench/soak"
)

// here is the argument of the process in the mount namespace.
const here = "here"

func main() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == soak.Inside:
		err = soak.RunInside(context.Background(), args[1])
	case len(args) > 1 && args[0] == here:
		err = runSoak(args[1], args[2:])
	default:
		os.Exit(watch(args))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// runSoak is the soak.
func runSoak(dir string, args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	f := flag.NewFlagSet("soak", flag.ContinueOnError)
	ingero := f.String("ingero", "bin/ingero", "the tracer")
	minutes := f.Float64("minutes", 10, "how long programs come and go")
	asJSON := f.Bool("json", false, "print one JSON object")
	keep := f.String("keep", "", "a folder for recordings with a wrong finding, and what explain printed of them")
	if err := f.Parse(args); err != nil {
		return err
	}
	path, err := filepath.Abs(*ingero)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%w; build it with make", err)
	}
	if *keep != "" {
		if err := os.MkdirAll(*keep, 0o700); err != nil {
			return err
		}
	}
	r, err := soak.Run(ctx, soak.Options{
		Ingero: path, Dir: dir, Length: time.Duration(*minutes * float64(time.Minute)), Log: os.Stderr, Keep: *keep,
	})
	if err != nil {
		return err
	}
	if *asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		err = r.Text(os.Stdout)
	}
	if err == nil && !r.Pass {
		err = errors.New("it did not pass")
	}
	return err
}

// watch starts the soak in a mount namespace of its own, and removes what it leaves, however it ends. The code is that
// of the process.
func watch(args []string) int {
	code, err := watched(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		return max(code, 1)
	}
	return code
}

func watched(args []string) (code int, err error) {
	if os.Geteuid() != 0 {
		return 1, errors.New("it needs root")
	}
	dir, err := os.MkdirTemp("", "ingero-soak-")
	if err != nil {
		return 1, err
	}
	clock, err := soak.ReadClock()
	if err != nil {
		return 1, err
	}
	defer func() {
		if soak.MayStep() {
			err = errors.Join(err, clock.Restore())
		}
		err = errors.Join(err, os.Remove(dir))
	}()
	// Programs that crash would leave core dumps.
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return 1, err
	}
	// What loses its parent becomes a child of this process, so that it is found.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 1, err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	cmd := exec.Command("/proc/self/exe", append([]string{here, dir}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// A group of its own: ^C of a terminal ends this process, which asks the soak to end.
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS, Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	go func() {
		for range asked {
			_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		}
	}()
	err = cmd.Wait()
	endOrphans()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// endOrphans ends all children of this process: what the soak started and did not end.
func endOrphans() {
	const patience = 10 * time.Second
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for _, pid := range soak.Children(os.Getpid()) {
			_ = unix.Kill(pid, unix.SIGKILL) // it may be a zombie
		}
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if errors.Is(err, unix.ECHILD) {
				return
			}
			if pid <= 0 {
				break
			}
		}
	}
}
