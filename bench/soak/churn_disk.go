package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// fullDisk fills the recording's disk, and frees it again.
var fullDisk = churner{
	name: "the recording's disk filled and freed", after: 20 * time.Second, every: time.Minute, round: fillDisk,
}

func fillDisk(ctx context.Context, w *world) error {
	const long = 12 * time.Second // a few pages may still fit into what the recording has already
	from := time.Now()
	w.setFull(true)
	free, err := fill(w.disk)
	if err == nil {
		wait(ctx, long)
	}
	err = errors.Join(err, free())
	w.setFull(false)
	// What it had not yet written when the disk became full may be lost as well.
	w.excuse(from.Add(-grace/2), time.Now().Add(grace), "the disk was full")
	return err
}

func (w *world) setFull(full bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.full = full
}

// fill takes all space of a file system. The function gives it back.
func fill(dir string) (free func() error, err error) {
	path := filepath.Join(dir, "ballast")
	free = func() error { return os.Remove(path) }
	f, err := os.Create(path)
	if err != nil {
		return func() error { return nil }, err
	}
	defer f.Close()
	var length int64
	for step := int64(64 << 20); step >= 4096; { // the largest pieces that fit
		switch err := unix.Fallocate(int(f.Fd()), 0, length, step); {
		case err == nil:
			length += step
		case errors.Is(err, unix.ENOSPC):
			step /= 2
		case !errors.Is(err, unix.EINTR):
			return free, fmt.Errorf("fill %s: %w", dir, err)
		}
	}
	return free, nil
}
