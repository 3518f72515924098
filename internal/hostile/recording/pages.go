package recording

import (
	"encoding/binary"
	"fmt"
	"os"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// byteAttacks are files that SQLite did not write: see https://www.sqlite.org/fileformat2.html.
func byteAttacks() []Attack {
	return []Attack{
		bytes("a tree whose pages are in it many times, of calls", func(f *file) error { return f.tree("call") }),
		bytes("a tree whose pages are in it many times, of threads", func(f *file) error { return f.tree("thread") }),
		bytes("a tree whose pages are in it many times, of losses", func(f *file) error { return f.tree("session") }),
		bytes("a tree whose pages are in it many times, of seconds", func(f *file) error { return f.tree("call_second") }),
		bytes("a value that goes round in a circle", func(f *file) error { return f.circle("cgroup", 900_000_000) }),
		bytes("a value as large as the memory", func(f *file) error { return f.circle("cgroup", 1<<40) }),
		bytes("more pages than there are", func(f *file) error { f.setPages(1<<32 - 2); return nil }),
		bytes("pages of another size", func(f *file) error { copy(f.b[16:], []byte{0, 1}); return nil }),
		bytes("a free list in a circle", func(f *file) error {
			binary.BigEndian.PutUint32(f.b[32:], 2)
			binary.BigEndian.PutUint32(f.b[36:], 1<<31)
			return nil
		}),
		bytes("text of two bytes a letter", func(f *file) error { f.b[59] = 3; return nil }),
		{"the first bytes only", func(path string) error { return head(path, 90) }},
		{"the first page only", func(path string) error { return head(path, 4096) }},
		{"a file that is mostly a hole", func(path string) error {
			if err := Honest(path); err != nil {
				return err
			}
			return os.Truncate(path, 1<<40)
		}},
		{"a log of nonsense", func(path string) error {
			if err := runSQL(path, "pragma user_version = 1"); err != nil {
				return err
			}
			if err := Honest(path); err != nil {
				return err
			}
			return os.WriteFile(path+"-wal", make([]byte, 1<<20), 0o600)
		}},
		{"a journal of nonsense", func(path string) error {
			if err := Honest(path); err != nil {
				return err
			}
			if err := runSQL(path, ""); err != nil {
				return err
			}
			return os.WriteFile(path+"-journal", append([]byte{0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7},
				make([]byte, 1<<20)...), 0o600)
		}},
	}
}

func head(path string, n int) error {
	b, err := honest()
	if err != nil {
		return err
	}
	return os.WriteFile(path, b[:n], 0o600)
}

// bytes is an attack that changes the bytes of an honest recording.
func bytes(name string, change func(*file) error) Attack {
	return Attack{name, func(path string) error {
		if err := Honest(path); err != nil {
			return err
		}
		if err := runSQL(path, ""); err != nil { // no log is left
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f := &file{path, b, int(binary.BigEndian.Uint16(b[16:]))}
		if err := change(f); err != nil {
			return err
		}
		return os.WriteFile(path, f.b, 0o600)
	}}
}

// file is an SQLite file in memory.
type file struct {
	path string
	b    []byte
	size int // of a page, bytes
}

func (f *file) page(n int) []byte { return f.b[(n-1)*f.size : n*f.size] }

// addPage appends an empty page and returns its number.
func (f *file) addPage() int {
	f.b = append(f.b, make([]byte, f.size)...)
	n := len(f.b) / f.size
	f.setPages(uint32(n))
	return n
}

func (f *file) setPages(n uint32) {
	binary.BigEndian.PutUint32(f.b[28:], n)
	copy(f.b[92:96], f.b[24:28]) // the number of pages is valid
}

// root is the first page of a table.
func (f *file) root(table string) (n int, err error) {
	c, err := sqlite.OpenConn(f.path, sqlite.OpenReadOnly)
	if err != nil {
		return 0, err
	}
	defer c.Close() // nothing was written
	err = sqlitex.ExecuteTransient(c, "select rootpage from sqlite_schema where name = ?",
		&sqlitex.ExecOptions{Args: []any{table}, ResultFunc: func(s *sqlite.Stmt) error {
			n = s.ColumnInt(0)
			return nil
		}})
	if err == nil && n == 0 {
		err = fmt.Errorf("there is no table %s", table)
	}
	return n, err
}

// levels is how deep SQLite descends at most, less one (BTCURSOR_MAX_DEPTH in btreeInt.h).
const levels = 18

// tree makes a table of which each inner page has the same child hundreds of times: more rows than anybody can read.
func (f *file) tree(table string) error {
	root, err := f.root(table)
	if err != nil {
		return err
	}
	leaf := f.addPage()
	copy(f.page(leaf), f.page(root)) // of a table that has one page, its rows; else it is an inner page itself
	child := leaf
	for range levels {
		n := f.addPage()
		f.inner(n, child)
		child = n
	}
	f.inner(root, child)
	return nil
}

// inner writes an inner page of a table: all its children are the same.
func (f *file) inner(n, child int) {
	p := f.page(n)
	clear(p)
	cells := (f.size - 12) / 8
	p[0] = 5
	binary.BigEndian.PutUint16(p[3:], uint16(cells))
	binary.BigEndian.PutUint32(p[8:], uint32(child))
	at := f.size
	for i := range cells {
		at -= 6
		binary.BigEndian.PutUint32(p[at:], uint32(child))
		p[at+4], p[at+5] = byte(0x80|i>>7), byte(i&0x7f)
		binary.BigEndian.PutUint16(p[12+2*i:], uint16(at))
	}
	binary.BigEndian.PutUint16(p[5:], uint16(at))
}

// circle gives a table of two columns one row, whose text continues on a page that continues on itself.
func (f *file) circle(table string, length uint64) error {
	root, err := f.root(table)
	if err != nil {
		return err
	}
	next := f.addPage()
	binary.BigEndian.PutUint32(f.page(next), uint32(next))
	p := f.page(root)
	clear(p)
	var record []byte
	record = varint(record, 2*length+13)
	record = append([]byte{byte(len(record) + 2), 0}, record...)
	whole := uint64(len(record)) + length
	usable := uint64(f.size)
	least := (usable-12)*32/255 - 23
	local := least + (whole-least)%(usable-4)
	if local > usable-35 {
		local = least
	}
	cell := varint(nil, whole)
	cell = varint(cell, 1)
	cell = append(cell, record...)
	cell = append(cell, make([]byte, int(local)-len(record))...)
	cell = binary.BigEndian.AppendUint32(cell, uint32(next))
	at := f.size - len(cell)
	copy(p[at:], cell)
	p[0] = 13
	binary.BigEndian.PutUint16(p[3:], 1)
	binary.BigEndian.PutUint16(p[5:], uint16(at))
	binary.BigEndian.PutUint16(p[8:], uint16(at))
	return nil
}

// varint appends a number as SQLite writes it, below 2^56.
func varint(b []byte, v uint64) []byte {
	n := 1
	for v>>(7*n) != 0 {
		n++
	}
	for i := n - 1; i >= 0; i-- {
		c := byte(v>>(7*i)) & 0x7f
		if i > 0 {
			c |= 0x80
		}
		b = append(b, c)
	}
	return b
}
