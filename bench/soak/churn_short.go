package soak

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"time"
)

// short are 2,000 processes a minute that end at once; each fourth has the libraries.
var short = churner{name: "2,000 short processes", after: 5 * time.Second, every: time.Minute, round: shortProcesses}

func shortProcesses(ctx context.Context, w *world) error {
	const processes, pause = 2000, 5 * time.Millisecond
	for i := range processes {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		cmd := exec.Command("/bin/true")
		if i%4 == 0 {
			cmd = exec.Command(w.files.Victim)
			cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+w.files.LibDir)
		}
		err := cmd.Run()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && i%4 == 0 && exit.ExitCode() == 2 { // it wants a command
			err = nil
		}
		if err != nil {
			w.note(&w.harmed, "a short process: %v", err)
		}
		wait(ctx, pause)
	}
	return nil
}
