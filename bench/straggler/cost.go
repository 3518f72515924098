package straggler

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ingero-io/ingero/internal/rig"
)

// costRuns is how often a job is run without and with a fleet, in turn.
const costRuns = 2

// cost measures what comparing ranks takes: the CPU time of the tracers of a job in which nothing happens, with
// a fleet less that without one.
func (l *lab) cost(ctx context.Context, c *Case) (*Result, error) {
	x := &Result{Case: *c}
	before, err := rig.ReadUsage()
	if err != nil {
		return nil, fmt.Errorf("read the machine's load: %w", err)
	}
	began := time.Now()
	var with, without float64
	for range costRuns {
		for _, alone := range []bool{true, false} {
			share, err := l.tracing(ctx, c, alone)
			if err != nil {
				return nil, err
			}
			if alone {
				without += share / costRuns
			} else {
				with += share / costRuns
			}
		}
	}
	x.Seconds = time.Since(began).Seconds()
	added := 100 * (with - without)
	alone := 100 * without
	x.TracerPct, x.AddedPct = &alone, &added
	after, err := rig.ReadUsage()
	if err != nil {
		return nil, fmt.Errorf("read the machine's load: %w", err)
	}
	x.OthersPct = 100 * rig.Others(before, after)
	return x, ctx.Err()
}

// tracing is the mean share of a core that a tracer takes, without a fleet or with one.
func (l *lab) tracing(ctx context.Context, c *Case, alone bool) (share float64, err error) {
	l.runs++
	m := &cell{l: l, c: c, dir: filepath.Join(l.dir, strconv.Itoa(l.runs)), alone: alone}
	if err := os.Mkdir(m.dir, 0o700); err != nil {
		return 0, fmt.Errorf("make a folder for a run: %w", err)
	}
	defer func() {
		if _, e := m.close(); err == nil {
			err = e
		}
	}()
	if err := m.open(ctx); err != nil {
		return 0, err
	}
	used, began := time.Duration(0), time.Now()
	for _, sign := range []time.Duration{-1, 1} {
		for _, t := range m.tracers {
			cpu, err := cpuTime(t.cmd.Process.Pid)
			if err != nil {
				return 0, fmt.Errorf("measure a tracer: %w", err)
			}
			used += sign * cpu
		}
		if sign < 0 {
			pause(ctx, l.o.Even/(2*costRuns))
		}
	}
	return used.Seconds() / time.Since(began).Seconds() / nodes, ctx.Err()
}

// cpuTime is the CPU time of a process's threads so far, those that have ended left out. It is exact to the
// nanosecond (proc_pid_schedstat), other than that in stat.
func cpuTime(pid int) (sum time.Duration, err error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("process %d has ended, or the kernel has no schedstat", pid)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended
		}
		ran, _, _ := strings.Cut(string(b), " ")
		ns, err := strconv.ParseInt(ran, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", f, err)
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}
