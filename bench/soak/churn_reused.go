package soak

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/ingero-io/ingero/internal/cudastub"
)

// reused are programs with locks whose ids, and those of their threads, are the ones of programs before them, which had
// other names: what was a process is now a thread of another one. On a machine with few ids that happens by itself
// within minutes.
var reused = churner{
	name: "process and thread ids used again", after: 3 * time.Second, every: 6 * time.Second, round: sameID,
	unable: func() string {
		if _, err := os.Stat(lastPID); errors.Is(err, fs.ErrNotExist) {
			return "the kernel has no " + lastPID
		}
		return ""
	},
}

// lastPID is the id after which the kernel looks for the next free one (CONFIG_CHECKPOINT_RESTORE).
const lastPID = "/proc/sys/kernel/ns_last_pid"

// usedAgain is what is counted when a program gets the id of an earlier one.
const usedAgain = "id used again"

func sameID(ctx context.Context, w *world) error {
	n := w.next("generation")
	loop, err := w.startAgain(ctx, n)
	if err != nil {
		return err
	}
	if err := nextID(int64(loop.PID()) + 1); err != nil { // of its first thread
		return errors.Join(err, loop.Stop())
	}
	if _, err := loop.Wait(); err != nil && ctx.Err() == nil {
		w.note(&w.harmed, "a program with locks (%d): %v", loop.PID(), err)
	}
	return nil
}

// nextID makes an id the next one that the kernel gives, if it is free.
func nextID(id int64) error {
	return os.WriteFile(lastPID, []byte(strconv.FormatInt(id-1, 10)), 0o644)
}

// startAgain starts generation n with one of three ids, in turn. If another program was faster and got it, once more.
func (w *world) startAgain(ctx context.Context, n int64) (loop *cudastub.LoopRun, err error) {
	const attempts, ids = 20, 3
	faults := []string{"lock", "lock", "none", "pi-lock", "cond"}
	args := []string{
		"--seconds", "4", "--pace-us", "10000", "--fault-ms", "40", "--fault", faults[n%int64(len(faults))],
		"--name", fmt.Sprintf("churn-%d", n), "--culprit", fmt.Sprintf("held-%d", n),
	}
	for range attempts {
		want := int64(0)
		if first := w.reused.Load(); first > 0 {
			want = first + n%ids
			if err := nextID(want); err != nil {
				return nil, err
			}
		}
		if loop, err = w.files.StartLoop(ctx, cudastub.Options{}, args...); err != nil {
			return nil, err
		}
		switch got := int64(loop.PID()); want {
		case 0:
			w.reused.Store(got)
			return loop, nil
		case got:
			if n > ids {
				w.next(usedAgain)
			}
			return loop, nil
		}
		_ = loop.Stop()    // before it has begun
		_, _ = loop.Wait() // what it says of itself is of no interest
	}
	return w.files.StartLoop(ctx, cudastub.Options{}, args...)
}
