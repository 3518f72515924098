package cudastub

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

// RanksTruth is what a job of several ranks measured of itself.
type RanksTruth struct {
	PIDs     []int   `json:"pids"` // by rank
	Steps    int     `json:"steps"`
	LateRank int     `json:"late_rank"`
	HogPID   int     `json:"hog_pid"`      // 0 without one
	LateFrom uint64  `json:"late_unix_ns"` // when a rank was late first, Unix ns; 0: never
	LateNS   []int64 `json:"late_ns"`      // for each step that was made late: how long after the last other rank
	UniqueID string  `json:"unique_id"`    // the job's ncclUniqueId, in hexadecimal
}

// RanksRun is a running "victim-ranks": processes that train together.
type RanksRun struct {
	cmd            *exec.Cmd
	stdin          io.WriteCloser
	stdout, stderr bytes.Buffer
	begin          func() error
}

// StartRanks starts a job with the options of victim/ranks.c. No rank exists before
// Begin, so that a tracer can attach to the launcher first.
func (f Files) StartRanks(ctx context.Context, o Options, args ...string) (*RanksRun, error) {
	args = append([]string{"--wait-stdin", "1"}, args...)
	r := &RanksRun{cmd: f.command(ctx, o, filepath.Join(f.Dir, "victim-ranks"), args...)}
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	var err error
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start ranks: %w", err)
	}
	r.begin = sync.OnceValue(r.stdin.Close)
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start ranks: %w", err)
	}
	return r, nil
}

// PID is the launcher's process id.
func (r *RanksRun) PID() int { return r.cmd.Process.Pid }

// Begin lets the launcher start the ranks. It may be called twice.
func (r *RanksRun) Begin() error { return r.begin() }

// Stop ends a job. Ranks that do not end in 2 s, such as one that hangs and those that wait for it, are killed.
// Wait still returns the truth.
func (r *RanksRun) Stop() error { return r.cmd.Process.Signal(syscall.SIGTERM) }

// Wait waits for the end of the job and returns what it printed.
func (r *RanksRun) Wait() (t RanksTruth, err error) {
	if err := r.Begin(); err != nil {
		return t, fmt.Errorf("begin ranks: %w", err)
	}
	if err := r.cmd.Wait(); err != nil {
		return t, fmt.Errorf("run ranks: %w", exitError(err, &r.stderr))
	}
	if err := json.Unmarshal(r.stdout.Bytes(), &t); err != nil {
		return t, fmt.Errorf("read the ranks' truth: %w%s", err, said(&r.stderr))
	}
	return t, nil
}
