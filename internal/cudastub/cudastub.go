// Package cudastub carries C stand-ins for NVIDIA's libraries and a program that
// uses them, so that probes can be tested, shown and measured without a GPU.
//
// libcudart.so.12 and libcuda.so.1 export NVIDIA's names with NVIDIA's calling
// conventions and do only what they are told: spend time, return an error, call the
// driver's function (stub/behave.h has the syntax of the environment variable CUDASTUB
// and the command "set"). The victim calls them: as a server of single commands with
// exact counts (Files.Start), or as a training loop with known faults that prints what
// they really cost (Files.Loop).
//
// It is not a simulator: nothing is copied unless a behaviour says so, pointers are
// made up, and no kernel runs.
// The prebuilt files are made by build.sh and need glibc 2.34 or later.
package cudastub

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrUnsupported says that this machine cannot do what was asked: the
// architecture has no prebuilt files, or the fault needs something that is missing.
var ErrUnsupported = errors.New("not supported on this machine")

// ErrUsage says that the program does not know an option or a fault.
var ErrUsage = errors.New("the stand-in program does not know this")

// Files are the stand-ins on disk.
type Files struct {
	Dir        string // the argument of Extract
	Victim     string // linked to the libraries
	VictimLate string // loads them by dlopen
	LibDir     string // libcudart.so.12 and libcuda.so.1
}

// Variant is the folder for the libraries whose functions begin with other
// instructions; the package variants fills it. To use them, pass it as Options.LibDir.
func (f Files) Variant(name string) string {
	return filepath.Join(f.Dir, "variants", name)
}

// Extract writes the victim programs and the libraries below dir.
func Extract(dir string) (Files, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Files{}, fmt.Errorf("extract stand-ins: %w", err)
	}
	if err := WriteTree(dir, prebuilt, prebuiltRoot); err != nil {
		return Files{}, fmt.Errorf("extract stand-ins: %w", err)
	}
	return Files{
		Dir:        dir,
		Victim:     filepath.Join(dir, "victim"),
		VictimLate: filepath.Join(dir, "victim-late"),
		LibDir:     filepath.Join(dir, "lib"),
	}, nil
}

// WriteTree copies the files below root of tree to dir, all of them executable.
// Existing files are replaced, not rewritten, so that running programs keep theirs.
func WriteTree(dir string, tree fs.FS, root string) error {
	if root == "" {
		return ErrUnsupported
	}
	return fs.WalkDir(tree, root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, rel)
		if entry.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		data, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		return writeExecutable(to, data)
	})
}

func writeExecutable(path string, data []byte) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// A child that another goroutine starts meanwhile would have it open, too: nobody could execute it until the child
	// has executed something itself.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, 0o755)
}
