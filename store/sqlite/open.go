package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

// source is a database file opened for reading. Neither the file nor the files beside it are
// changed.
type source struct {
	path string // as the user gave it
	file *inode
	uri  string
	temp string // folder of a copy, removed at close
	log  bool   // connections read its log, and so keep a writer from ending it
	ours bool   // this version's, according to the file's header; the log may have more

	prepare func(*sqlite.Conn) error // what each connection needs before it is read-only, or nil
}

const headerSize = 100

var magic = []byte("SQLite format 3\x00")

// openSource looks at the file and chooses how to read it (see DESIGN.md):
//
//   - no write-ahead log in use: plain read-only, under SQLite's shared lock;
//   - log mode, log and shared-memory file there (a live writer, or one that was
//     killed): read-only with the shared memory opened read-only too. With no
//     live writer SQLite then indexes the log in its own memory;
//   - log mode, but no log: nothing to lock or replay, so immutable;
//   - a log but no shared memory, as after copying two of three files: a
//     temporary copy, in which SQLite may build what it needs.
func openSource(path string) (*source, error) {
	file, err := acquire(path)
	if err != nil {
		return nil, err
	}
	s := &source{path: path, file: file}
	if err := s.choose(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *source) choose() error {
	abs, err := filepath.EvalSymlinks(s.path)
	if err != nil {
		return openError(s.path, err)
	}
	if abs, err = filepath.Abs(abs); err != nil {
		return err
	}
	wal, shm := fileSize(abs+"-wal"), fileSize(abs+"-shm")
	logMode, err := s.header(wal > 0)
	if err != nil {
		return err
	}
	query := "mode=ro"
	switch {
	case wal > 0 && shm <= 0 && logMode:
		if abs, err = s.copyToTemp(abs); err != nil {
			return err
		}
	case wal >= 0 && shm > 0 && logMode:
		query += "&readonly_shm=1"
		s.log = true
	case logMode && !s.file.hasWriter():
		query += "&immutable=1"
	}
	s.uri = (&url.URL{Scheme: "file", Path: abs, RawQuery: query}).String()
	return nil
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}

// header checks the first bytes and reports whether the file uses a write-ahead log. hasLog says
// that there is one, so that the file itself may still be short.
func (s *source) header(hasLog bool) (logMode bool, err error) {
	var h [headerSize]byte
	n, err := s.file.file.ReadAt(h[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, openError(s.path, err)
	}
	switch {
	case n == 0 && hasLog:
		return true, nil
	case n == 0:
		return false,
			fmt.Errorf("%s: %w: it is empty; record one with ingero trace --db %s", s.path, store.ErrForeign, s.path)
	case !bytes.HasPrefix(h[:n], magic[:min(n, len(magic))]):
		return false, fmt.Errorf("%s: %w: it is not an SQLite file; pass the path of a recording", s.path, store.ErrForeign)
	case n < headerSize:
		return false, fmt.Errorf("%s: %w: only %d bytes of it are left; nothing can be read", s.path, store.ErrCorrupt, n)
	}
	s.ours = binary.BigEndian.Uint32(h[68:]) == applicationID
	return h[19] == 2, nil
}

// copyToTemp copies the database and its log to a place where SQLite may index
// the log.
func (s *source) copyToTemp(path string) (string, error) {
	dir, err := os.MkdirTemp("", "ingero-read-")
	if err != nil {
		return "", fmt.Errorf("%s: copy it for reading its log: %w", s.path, err)
	}
	s.temp = dir
	to := filepath.Join(dir, "copy.db")
	if err := copyFile(to, io.NewSectionReader(s.file.file, 0, 1<<62)); err != nil {
		return "", fmt.Errorf("%s: copy it for reading its log: %w", s.path, err)
	}
	log, err := os.Open(path + "-wal")
	if err != nil {
		return "", openError(path+"-wal", err)
	}
	defer log.Close()
	if err := copyFile(to+"-wal", log); err != nil {
		return "", fmt.Errorf("%s: copy it for reading its log: %w", s.path, err)
	}
	return to, nil
}

func copyFile(to string, from io.Reader) error {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

// readPragmas are for files that strangers may have made: what a schema says runs no function that reaches beyond its
// arguments, and the sizes of cells are checked when a page is read.
var readPragmas = []string{"pragma trusted_schema = off", "pragma cell_size_check = on"}

// connect opens a connection that cannot write.
func (s *source) connect() (*sqlite.Conn, error) {
	c, err := sqlite.OpenConn(s.uri, sqlite.OpenReadOnly, sqlite.OpenURI)
	if err != nil {
		return nil, wrap(s.path, err)
	}
	c.SetBusyTimeout(5 * time.Second)
	c.Limit(sqlite.LimitLength, mostValue)
	for _, p := range readPragmas {
		if err := exec(c, p); err != nil {
			c.Close() // the error that matters is err
			return nil, s.explain(err)
		}
	}
	if s.prepare != nil {
		if err := s.prepare(c); err != nil {
			c.Close() // the error that matters is err
			return nil, s.explain(err)
		}
	}
	if err := exec(c, "pragma query_only = on"); err != nil {
		c.Close() // likewise
		return nil, s.explain(err)
	}
	if _, err := queryInt(c, "select count(*) from sqlite_schema"); err != nil {
		c.Close() // likewise
		return nil, s.explain(err)
	}
	return c, nil
}

// explain adds to a damage report what can still be read.
func (s *source) explain(err error) error {
	wrapped := wrap(s.path, err)
	if !errors.Is(wrapped, store.ErrCorrupt) {
		return wrapped
	}
	return fmt.Errorf("%w; %s", wrapped, s.damageReport())
}

func (s *source) close() {
	if s.temp != "" {
		os.RemoveAll(s.temp) // a leftover in the temporary folder does no harm
		s.temp = ""
	}
	if s.file != nil {
		s.file.release()
		s.file = nil
	}
}
