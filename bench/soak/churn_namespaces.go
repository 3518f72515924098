package soak

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/internal/cudastub"
)

// namespaces is a container: mount and process namespaces of its own, and its files in memory that only it can see.
var namespaces = churner{name: "containers", every: 2 * time.Second, round: container}

// Inside is the argument with which a soak starts itself in a container; the next one is a folder.
const Inside = "inside"

func container(ctx context.Context, w *world) error {
	dir := filepath.Join(w.dir, fmt.Sprintf("container-%d", w.next("container")))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	defer os.Remove(dir)
	cmd := exec.CommandContext(ctx, "/proc/self/exe", Inside, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID}
	if out, err := cmd.CombinedOutput(); err != nil && ctx.Err() == nil {
		w.note(&w.harmed, "a container: %v: %s", err, out)
	}
	return nil
}

// RunInside is what runs in the container, as its first process.
func RunInside(ctx context.Context, dir string) error {
	const mib = 8
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := mountMemory(dir, mib); err != nil {
		return err
	}
	files, err := cudastub.Extract(dir)
	if err != nil {
		return err
	}
	v, err := files.Start(ctx, cudastub.Options{})
	if err != nil {
		return err
	}
	seen(ctx)
	for _, c := range []string{"call cudaLaunchKernel 20 threads=3", "call cudaStreamSynchronize 1"} {
		if _, err := v.Do(c); err != nil {
			return err
		}
	}
	return v.Close()
}
