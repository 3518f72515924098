// Package unixsocket listens at paths in the file system: a socket that nobody listens at any more is
// replaced, and a folder that others could write is refused.
package unixsocket

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrInUse says that another program listens at the path.
var ErrInUse = errors.New("another tracer listens there")

// backlog is how many connections may wait to be accepted.
const backlog = 64

// Bind listens at a path, without blocking, and gives the socket's file a mode. A socket there at which
// nobody listens any more is replaced.
func Bind(path string, mode fs.FileMode) (fd int, err error) {
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

// MakeFolder makes the folder of a path with a mode. One that is not this user's is refused.
func MakeFolder(path string, mode fs.FileMode) error {
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
		return fmt.Errorf("%s is not a folder that belongs to this user; remove it, or choose another path", dir)
	}
	if info.Mode().Perm() != mode { // of another umask, or made by somebody else
		return os.Chmod(dir, mode)
	}
	return nil
}

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
		return errors.New("it exists, and is not a socket")
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

// Inode is the number of the socket's file, by which its owner knows later that it is still its own.
func Inode(path string) (uint64, error) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	return st.Ino, err
}

// Remove removes the socket's file, unless another program has replaced it.
func Remove(path string, inode uint64) {
	if now, err := Inode(path); err == nil && now == inode {
		os.Remove(path)
	}
}
