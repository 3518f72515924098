package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/ingero-io/ingero/explain/report"
)

// readers ask the recording while it is made. Findings are compared with what is known of the processes that they
// name.
var readers = churner{
	name: "explain and query of the recording", after: 10 * time.Second, every: 5 * time.Second, round: readRecording,
}

func readRecording(ctx context.Context, w *world) error {
	out, err := w.ask(ctx, "explain", "--json", "--since", "30s", "--db", w.tracer.recording)
	if err != nil || out == nil {
		return err
	}
	var r report.Report
	if err := json.Unmarshal(out, &r); err != nil {
		return fmt.Errorf("read what explain prints: %w", err)
	}
	var wrong []string
	w.told.with(func(l lives) {
		wrong = wrongFindings(&r, l, uint32(w.steady.cmd.Process.Pid), w.steady.counted())
	})
	for _, x := range wrong {
		w.note(&w.wrong, "%s", x)
	}
	if len(wrong) > 0 && w.keep != "" {
		if err := w.keepRecording(out); err != nil {
			return fmt.Errorf("keep a recording with a wrong finding: %w", err)
		}
	}
	w.mu.Lock()
	w.reports++
	w.findings += len(r.Chains)
	if len(r.Chains) > 0 {
		w.found++
	}
	w.mu.Unlock()
	_, err = w.ask(ctx, "query", w.tracer.recording, "--format", "json",
		"select comm, op, sum(calls) as calls from op_seconds group by 1, 2 order by 3 desc limit 20")
	return err
}

// keepRecording copies the recording, and what explain printed of it: wrong-N.db, with its -wal, and wrong-N.json. The
// tracer writes meanwhile, so a copy may rarely be torn. More than a few would be of the same mistake.
func (w *world) keepRecording(report []byte) error {
	const most = 5
	n := w.next("kept recording")
	if n > most {
		return nil
	}
	to := filepath.Join(w.keep, fmt.Sprintf("wrong-%d", n))
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(w.tracer.recording + end)
		if err != nil {
			return err
		}
		if err := os.WriteFile(to+".db"+end, b, 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(to+".json", report, 0o600)
}

// ask runs a command of ingero that reads. While the disk is full or the tracer is away it need not answer.
func (w *world) ask(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, w.tracer.ingero, args...)
	cmd.Dir, cmd.Env = w.dir, append(os.Environ(), "HOME="+w.dir)
	before := w.isFull()
	out, err := cmd.Output()
	if err == nil || ctx.Err() != nil {
		return out, ctx.Err()
	}
	if _, _, there := w.tracer.running(); before || w.isFull() || !there {
		return nil, nil
	}
	said := ""
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		said = string(exit.Stderr)
	}
	w.note(&w.unread, "ingero %s: %v: %s", args[0], err, said)
	return nil, nil
}

func (w *world) isFull() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.full
}
