package soak

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/internal/cudastub"
)

// mounts is a file system with a program and its libraries, which is unmounted when the program has ended.
var mounts = churner{name: "file systems mounted and unmounted", every: 5 * time.Second, round: mountAndUnmount}

func mountAndUnmount(ctx context.Context, w *world) error {
	dir := filepath.Join(w.dir, fmt.Sprintf("mount-%d", w.next("mount")))
	const mib = 8
	if err := mountMemory(dir, mib); err != nil {
		return err
	}
	files, err := cudastub.Extract(dir)
	if err == nil {
		var v *cudastub.Victim
		if v, err = files.Start(ctx, cudastub.Options{}); err == nil {
			seen(ctx)
			_, err = v.Do("call cudaLaunchKernel 5")
			w.end(ctx, v)
		}
	}
	if kept := unmount(dir); kept != nil && ctx.Err() == nil {
		w.note(&w.kept, "%s: %v", dir, kept)
	}
	return err
}

// unmount waits for as long as a person would: a tracer needs a moment to see that the program has ended.
func unmount(dir string) (err error) {
	const patience = 10 * time.Second
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		if err = unix.Unmount(dir, 0); err == nil {
			return os.Remove(dir)
		}
		if time.Now().After(end) {
			break
		}
	}
	_ = unix.Unmount(dir, unix.MNT_DETACH) // what keeps it is reported
	_ = os.Remove(dir)
	return err
}
