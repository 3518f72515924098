package privilege

import (
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// ofProcess reports whether a path leads through a process: /proc/PID/maps, /proc/PID/root/usr/lib/libx.so.
// Libraries of traced processes are always opened by such a path, and what the user names is not opened by this
// package.
func ofProcess(path string) bool {
	rest, ok := strings.CutPrefix(path, "/proc/")
	return ok && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// For calls f as With does if the path leads through a process, and else without any capability more.
func For(path string, f func() error) error {
	if !ofProcess(path) {
		return f()
	}
	return With(f)
}

// to is For of a function with a result.
func to[T any](path string, f func() (T, error)) (r T, err error) {
	err = For(path, func() (err error) {
		r, err = f()
		return err
	})
	return r, err
}

// Open is os.Open of what belongs to a traced process. It does not block, as a FIFO would, and takes no terminal: who
// is traced chooses the file.
func Open(path string) (*os.File, error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY
	return to(path, func() (*os.File, error) { return os.OpenFile(path, flags, 0) })
}

// ReadFile is os.ReadFile.
func ReadFile(path string) ([]byte, error) {
	return to(path, func() ([]byte, error) { return os.ReadFile(path) })
}

// ReadDir is os.ReadDir.
func ReadDir(path string) ([]fs.DirEntry, error) {
	return to(path, func() ([]fs.DirEntry, error) { return os.ReadDir(path) })
}

// Readlink is os.Readlink.
func Readlink(path string) (string, error) {
	return to(path, func() (string, error) { return os.Readlink(path) })
}

// Stat is os.Stat.
func Stat(path string) (fs.FileInfo, error) {
	return to(path, func() (fs.FileInfo, error) { return os.Stat(path) })
}
