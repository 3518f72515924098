package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// PathEnv names the environment variable with the socket's path, for programs that send labels.
const PathEnv = "INGERO_ANNOTATE"

// System is the path of the socket of a tracer that is run by root.
const System = "/run/ingero/annotate.sock"

// own is the path below the home folder of another user.
const own = ".ingero/run/annotate.sock"

// Path is where a tracer of this process's user listens by default; home is the user's home folder.
func Path(home string) string {
	if os.Geteuid() == 0 {
		return System
	}
	return filepath.Join(home, own)
}

// Paths are where programs look for a tracer, in order. chosen is the value of PathEnv.
func Paths(chosen, home string) []string {
	if chosen != "" {
		return []string{chosen}
	}
	list := []string{System}
	if home != "" {
		list = append(list, filepath.Join(home, own))
	}
	return list
}

// makeFolder makes the folder of one of the two default paths: that of root may be entered by all,
// another user's by nobody else. A folder that others could write is refused.
func makeFolder(path, home string) error {
	mode := fs.FileMode(0o700)
	switch path {
	case System:
		mode = 0o755
	case filepath.Join(home, own):
	default:
		return nil // the user chose it
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, mode); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is no folder of this user", dir)
	}
	if info.Mode().Perm() != mode { // of another umask, or made by somebody else
		return os.Chmod(dir, mode)
	}
	return nil
}

// bind listens at a path. A socket there at which nobody listens any more is replaced.
func bind(path string) (fd int, err error) {
	if len(path) >= len(unix.RawSockaddrUnix{}.Path) {
		return -1, fmt.Errorf("its path is longer than %d characters", len(unix.RawSockaddrUnix{}.Path)-1)
	}
	if err := removeStale(path); err != nil {
		return -1, err
	}
	fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	mode := fs.FileMode(0o600)
	if os.Geteuid() == 0 {
		mode = 0o666 // each user labels their own processes
	}
	if err = unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err == nil {
		if err = os.Chmod(path, mode); err == nil {
			err = unix.Listen(fd, backlog)
		}
		if err != nil {
			os.Remove(path)
		}
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// ErrInUse says that another tracer listens at the path.
var ErrInUse = errors.New("another tracer listens there")

// removeStale removes a socket at which nobody listens.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return errors.New("it exists and is no socket")
	}
	switch err := probe(path); {
	case errors.Is(err, unix.ECONNREFUSED):
		return os.Remove(path)
	case err == nil || errors.Is(err, unix.EAGAIN):
		return ErrInUse
	default:
		return err
	}
}

// probe connects to a socket, and closes the connection.
func probe(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}
