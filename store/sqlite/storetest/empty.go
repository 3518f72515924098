package storetest

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	zombie "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/store/sqlite"
)

// OpenWriter is sqlite.OpenWriter, but a recording that does not exist begins as a copy of an empty
// one. Making the tables and views takes most of the time of a test that records little.
func OpenWriter(path string, o sqlite.Options) (*sqlite.Writer, error) {
	data, err := empty()
	if err != nil {
		return nil, fmt.Errorf("make an empty recording: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	switch {
	case os.IsExist(err):
		return sqlite.OpenWriter(path, o)
	case err != nil:
		return nil, err
	}
	if _, err := f.Write(data); err != nil {
		f.Close() // the error that matters is err
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return sqlite.OpenWriter(path, o)
}

// empty is a recording without a session, as bytes of a file.
var empty = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "ingero-empty-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // a leftover in the temporary folder does no harm
	path := filepath.Join(dir, "empty.db")
	w, err := sqlite.OpenWriter(path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	c, err := zombie.OpenConn(path, zombie.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	defer c.Close() // what matters is in the file
	if err := sqlitex.ExecuteTransient(c, "delete from session", nil); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
