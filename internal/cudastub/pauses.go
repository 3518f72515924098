package cudastub

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// Pauses measures for how long a processor stood still without the kernel's knowledge: a
// hypervisor, or an emulator, may take it away and not say so (victim/pauses.c).
type Pauses struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout bytes.Buffer
	stderr bytes.Buffer
}

// WatchPauses begins to measure, until Share or until ctx is done. It needs root.
func (f Files) WatchPauses(ctx context.Context) (*Pauses, error) {
	p := &Pauses{cmd: f.command(ctx, Options{}, f.VictimLate, "pauses")}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	stdin, err := p.cmd.StdinPipe()
	if err == nil {
		p.stdin, err = stdin, p.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("watch for pauses: %w", err)
	}
	return p, nil
}

// Share ends the measurement. It is the share of the time for which that processor stood still that
// did so for longest, in pauses of 1 ms or more.
func (p *Pauses) Share() (float64, error) {
	_ = p.stdin.Close() // fails only if the program is gone already, which Wait tells
	if err := p.cmd.Wait(); err != nil {
		return 0, fmt.Errorf("watch for pauses: %w%s", err, said(&p.stderr))
	}
	share, err := strconv.ParseFloat(strings.TrimSpace(p.stdout.String()), 64)
	if err != nil {
		return 0, fmt.Errorf("watch for pauses: %w", err)
	}
	return share, nil
}
