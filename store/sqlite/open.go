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
	"syscall"
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
	most uint64 // bytes of memory from which on no more rows are read: see mostMemory

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
//     temporary copy, in which SQLite may build what it needs;
//   - the journal of a transaction whose writer was killed: a temporary copy, in
//     which it is rolled back.
func openSource(path string) (*source, error) {
	file, err := acquire(path)
	if err != nil {
		return nil, err
	}
	s := &source{path: path, file: file, most: max(mostMemory, memory()+otherMemory)}
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
		if abs, err = s.copyToTemp(abs, "-wal"); err != nil {
			return err
		}
	case wal >= 0 && shm > 0 && logMode:
		query += "&readonly_shm=1"
		s.log = true
	case logMode && !s.file.hasWriter():
		query += "&immutable=1"
	case !logMode && fileSize(abs+"-journal") > 0 && mustRollBack(readURI(abs, query)):
		if abs, err = s.copyToTemp(abs, "-journal"); err != nil {
			return err
		}
		if err := rollBack(abs); err != nil {
			return wrap(s.path, err)
		}
	}
	s.uri = readURI(abs, query)
	return nil
}

func readURI(path, query string) string {
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query}).String()
}

// mustRollBack reports whether a file has a journal that its next writer will play back. Until then nobody can read it.
func mustRollBack(uri string) bool {
	c, err := sqlite.OpenConn(uri, sqlite.OpenReadOnly, sqlite.OpenURI)
	if err != nil {
		return false // the next one who opens it is told why
	}
	defer c.Close() // nothing was written
	_, err = queryInt(c, "select count(*) from sqlite_schema")
	return sqlite.ErrCode(err).ToPrimary() == sqlite.ResultReadOnly
}

// rollBack undoes a transaction in a copy.
func rollBack(path string) error {
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	_, err = queryInt(c, "select count(*) from sqlite_schema")
	return errors.Join(err, c.Close())
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

// copyToTemp copies the database and the file beside it to a place where SQLite
// may write.
func (s *source) copyToTemp(path, beside string) (string, error) {
	if need := fileSize(path) + fileSize(path+beside); need > free(os.TempDir()) {
		return "", fmt.Errorf("%s: %w: to read it, its %s has to be played back in a copy, and %s has not the %d MiB for "+
			"that; set TMPDIR to a folder that has", s.path, store.ErrFull, beside[1:], os.TempDir(), need>>20)
	}
	dir, err := os.MkdirTemp("", "ingero-read-")
	if err != nil {
		return "", fmt.Errorf("%s: copy it for reading its log: %w", s.path, err)
	}
	s.temp = dir
	to := filepath.Join(dir, "copy.db")
	if err := copyFile(to, io.NewSectionReader(s.file.file, 0, 1<<62)); err != nil {
		return "", fmt.Errorf("%s: copy it for reading its log: %w", s.path, err)
	}
	log, err := os.Open(path + beside)
	if err != nil {
		return "", openError(path+beside, err)
	}
	defer log.Close()
	if err := copyFile(to+beside, log); err != nil {
		return "", fmt.Errorf("%s: copy it for reading its log: %w", s.path, err)
	}
	return to, nil
}

// free is how many bytes may be written in a folder, with some left for others.
func free(dir string) int64 {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0
	}
	return int64(st.Bavail) * int64(st.Bsize) / 10 * 9
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
