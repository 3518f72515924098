package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

// openError explains why a file could not be opened.
func openError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w; record one with ingero trace --db %s, or pass the right path", path, store.ErrNotFound,
			path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: %w; run as its owner or make it readable", path, store.ErrPermission)
	}
	return fmt.Errorf("open %s: %w", path, err)
}

// wrap turns an SQLite error into one of the store's, with advice.
func wrap(path string, err error) error {
	if err == nil {
		return nil
	}
	code := sqlite.ErrCode(err)
	switch code.ToPrimary() {
	case sqlite.ResultFull:
		return fullError(path, err)
	case sqlite.ResultIOErr:
		if diskIsFull(path) {
			return fullError(path, err)
		}
		if code == sqlite.ResultIOErrShortRead {
			return damaged(path, err)
		}
	case sqlite.ResultCorrupt:
		return damaged(path, err)
	case sqlite.ResultTooBig:
		return fmt.Errorf("%s: %w: it has a value of more than %d MiB, which no Ingero writes", path, store.ErrCorrupt,
			mostValue>>20)
	case sqlite.ResultNoMem:
		return fmt.Errorf("%s: %w; ask for less of it with --since, --from and --to", path, store.ErrTooMuch)
	case sqlite.ResultNotADB:
		return fmt.Errorf("%s: %w: it is not an SQLite file, or its first page is damaged; pass the path of a recording",
			path, store.ErrForeign)
	case sqlite.ResultPerm, sqlite.ResultReadOnly:
		return fmt.Errorf("%s: %w: %w; run as its owner or copy it to a place you may write", path, store.ErrPermission, err)
	case sqlite.ResultBusy, sqlite.ResultLocked:
		return fmt.Errorf("%s is locked by another program: %w; try again or stop it", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

func fullError(path string, err error) error {
	return fmt.Errorf("%s: %w: %w; free space, or limit the file with --max-db", path, store.ErrFull, err)
}

func damaged(path string, err error) error {
	return fmt.Errorf("%s: %w: %w; sqlite3 %q .recover saves what is left", path, store.ErrCorrupt, err, path)
}

// diskIsFull reports whether less than a page group is free where path lies.
func diskIsFull(path string) bool {
	var st syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &st); err != nil {
		return false
	}
	return st.Bavail*uint64(st.Bsize) < 1<<17
}
