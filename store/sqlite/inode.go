package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"github.com/ingero-io/ingero/store"
)

// POSIX record locks belong to a process and a file: closing any descriptor of a database drops all
// locks that SQLite holds on it in this process. So each file is opened at most once to read its
// bytes, and that descriptor is closed only after the last connection to the file.
var inodes = struct {
	mu   sync.Mutex
	open map[inodeKey]*inode
}{open: map[inodeKey]*inode{}}

type inodeKey struct{ dev, ino uint64 }

// inode is a file that this process has connections to.
type inode struct {
	key    inodeKey
	file   *os.File
	refs   int
	writer bool // this process writes it
}

// acquire registers a connection to path that is about to be opened.
func acquire(path string) (*inode, error) {
	inodes.mu.Lock()
	defer inodes.mu.Unlock()
	info, err := os.Stat(path)
	if err != nil {
		return nil, openError(path, err)
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a directory: %w; give the path of a database file", path, store.ErrForeign)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: %w", path, store.ErrForeign)
	}
	key := keyOf(info)
	if n := inodes.open[key]; n != nil {
		n.refs++
		return n, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, openError(path, err)
	}
	n := &inode{key: key, file: f, refs: 1}
	inodes.open[key] = n
	return n, nil
}

func keyOf(info fs.FileInfo) inodeKey {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return inodeKey{uint64(st.Dev), st.Ino}
	}
	return inodeKey{}
}

// release is called after the connection was closed.
func (n *inode) release() {
	inodes.mu.Lock()
	defer inodes.mu.Unlock()
	if n.refs--; n.refs == 0 {
		delete(inodes.open, n.key)
		n.file.Close() // read only: no data to lose
	}
}

// lockForWriting makes this process the file's only writer until unlock. It is
// an flock, which SQLite's own record locks do not see.
func (n *inode) lockForWriting(path string) error {
	inodes.mu.Lock()
	defer inodes.mu.Unlock()
	busy := fmt.Errorf("%s is being recorded to by another ingero trace; stop it or pass another --db", path)
	if n.writer {
		return busy
	}
	err := syscall.Flock(int(n.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return busy
	}
	// A file system without flock still has SQLite's own locks.
	n.writer = true
	return nil
}

func (n *inode) unlock() {
	inodes.mu.Lock()
	defer inodes.mu.Unlock()
	n.writer = false
	// Closing the descriptor would release the lock too; readers may keep it.
	_ = syscall.Flock(int(n.file.Fd()), syscall.LOCK_UN)
}

// removed reports whether the file has no name any more: what is written to it is gone at the end.
func (n *inode) removed() bool {
	var st syscall.Stat_t
	return syscall.Fstat(int(n.file.Fd()), &st) == nil && st.Nlink == 0
}

func (n *inode) hasWriter() bool {
	inodes.mu.Lock()
	defer inodes.mu.Unlock()
	return n.writer
}
