package hostile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/internal/hostile/elffile"
)

// mapFile maps the code of a file, as a loader does. Nothing of it is run.
func mapFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("map a file: %w", err)
	}
	defer f.Close()
	if _, err := unix.Mmap(int(f.Fd()), elffile.CodeAt, elffile.CodeSize, unix.PROT_READ|unix.PROT_EXEC,
		unix.MAP_PRIVATE); err != nil {
		return fmt.Errorf("map %s: %w", path, err)
	}
	return nil
}

// mapped starts a process that maps a file as code, until end is called.
func mapped(ctx context.Context, path string) (end func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start a process that maps a file: %w", err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), self, mapArgument, path)
	cmd.Dir = filepath.Dir(path)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a process that maps a file: %w", err)
	}
	end = func() error {
		_ = in.Close() // at which it ends
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("the process that maps a file: %w", err)
		}
		return nil
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return nil, errors.Join(fmt.Errorf("map %s: %w", path, err), end())
	}
	return end, nil
}
