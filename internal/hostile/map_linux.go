package hostile

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mapFile maps the beginning of a file as code, as a loader does. Nothing of it is run.
func mapFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("map a file: %w", err)
	}
	defer f.Close()
	if _, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE); err != nil {
		return fmt.Errorf("map %s: %w", path, err)
	}
	return nil
}

// mapped has a process map a file as code for as long as the tracer needs to look at it.
func mapped(ctx context.Context, path string, look func() error) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("start a process that maps a file: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, mapArgument, path)
	cmd.Dir = filepath.Dir(path)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a process that maps a file: %w", err)
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	if err == nil {
		err = look()
	}
	_ = in.Close()
	if ended := cmd.Wait(); err == nil && ended != nil {
		err = fmt.Errorf("the process that maps a file: %w", ended)
	}
	return err
}
