package elf

import (
	"errors"
	"os"

	"github.com/ingero-io/ingero/capture/privilege"
)

// fileID identifies a file on the machine, as /proc/PID/maps shows it.
type fileID struct {
	dev   string
	inode uint64
}

// fileVersion changes when an inode gets other contents.
type fileVersion struct {
	size, modifiedNS int64
}

var errNotRegular = errors.New("not a regular file")

// open opens a file that a traced process has chosen. It must not block, as
// opening a FIFO would.
func open(name string) (*os.File, fileVersion, error) {
	f, err := privilege.Open(name)
	if err != nil {
		return nil, fileVersion{}, err
	}
	return checked(f)
}

// checked returns a file with its version, or closes it if it cannot be read.
func checked(f *os.File) (*os.File, fileVersion, error) {
	i, err := f.Stat()
	if err == nil && !i.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, fileVersion{}, err
	}
	return f, fileVersion{i.Size(), i.ModTime().UnixNano()}, nil
}

// tables keeps the most recently used symbol tables.
type tables struct {
	maxFiles, maxBytes int
	bytes              int
	clock              uint64
	byID               map[fileID]*table
}

func newTables(maxFiles, maxBytes int) tables {
	return tables{maxFiles: maxFiles, maxBytes: maxBytes, byID: map[fileID]*table{}}
}

func (c *tables) get(id fileID) *table {
	t := c.byID[id]
	if t != nil {
		c.clock++
		t.used = c.clock
	}
	return t
}

// put adds a table and drops the least recently used ones until all fit. The
// added one stays, whatever its size.
func (c *tables) put(id fileID, t *table) {
	c.drop(id)
	c.clock++
	t.used = c.clock
	for len(c.byID) > 0 && (len(c.byID) >= c.maxFiles || c.bytes+t.size() > c.maxBytes) {
		c.drop(c.oldest())
	}
	c.byID[id] = t
	c.bytes += t.size()
}

func (c *tables) oldest() (id fileID) {
	age := c.clock
	for i, t := range c.byID {
		if t.used < age {
			id, age = i, t.used
		}
	}
	return id
}

// closeUnless closes the files of big tables that are not in keep.
func (c *tables) closeUnless(keep map[fileID]bool) {
	for id, t := range c.byID {
		if !keep[id] {
			t.close()
		}
	}
}

func (c *tables) drop(id fileID) {
	if t := c.byID[id]; t != nil {
		t.close()
		c.bytes -= t.size()
		delete(c.byID, id)
	}
}
