package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// command is a program that is run by `ingero trace -- CMD`, whose disk becomes full. It has to run to its own end.
var command = churner{
	name: "trace -- CMD with a full disk", after: 35 * time.Second, every: time.Minute, round: runCommand,
}

func runCommand(ctx context.Context, w *world) (err error) {
	const mib, seconds = 24, 8
	dir := filepath.Join(w.dir, "command")
	if err := mountMemory(dir, mib); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unmount(dir)) }()
	cmd := exec.CommandContext(ctx, w.tracer.ingero, "trace", "--quiet", "--db", filepath.Join(dir, "run.db"), "--",
		w.files.Victim, "loop", "--seconds", strconv.Itoa(seconds), "--pace-us", "10000", "--name", "command")
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "HOME="+w.dir, "LD_LIBRARY_PATH="+w.files.LibDir)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = time.Minute
	var out bytes.Buffer
	var said tail
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Start(); err != nil {
		return err
	}
	wait(ctx, 3*time.Second)
	free, full := fill(dir)
	ended := cmd.Wait()
	if err := errors.Join(full, free()); err != nil || ctx.Err() != nil {
		return err
	}
	ran, found := ranFor(out.String())
	if ended != nil || !found || ran < seconds {
		w.note(&w.harmed, "trace -- CMD with a full disk: CMD ran %.1f s of %d: %v: %s", ran, seconds, ended, &said)
	}
	return nil
}

// ranFor is how long the program says it has run.
func ranFor(printed string) (seconds float64, found bool) {
	for line := range strings.Lines(printed) {
		var truth struct {
			PID     int     `json:"pid"`
			Seconds float64 `json:"seconds"`
		}
		if json.Unmarshal([]byte(line), &truth) == nil && truth.PID > 0 {
			return truth.Seconds, true
		}
	}
	return 0, false
}
