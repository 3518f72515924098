package parquet

import (
	"encoding/binary"
	"fmt"
)

// column is a column of a group of rows.
type column struct {
	Column
	there []uint32 // of each row: 1 if it has a value
	ints  []int64  // the values, of integers and times
	texts []string
}

func (c *column) physical() int32 {
	if c.Kind == Text {
		return typeByteArray
	}
	return typeInt64
}

func (c *column) add(v any) error {
	switch v := v.(type) {
	case nil:
		c.there = append(c.there, 0)
		return nil
	case int64:
		if c.Kind != Text {
			c.there, c.ints = append(c.there, 1), append(c.ints, v)
			return nil
		}
	case string:
		if c.Kind == Text {
			c.there, c.texts = append(c.there, 1), append(c.texts, validText(v))
			return nil
		}
	}
	return fmt.Errorf("column %s: a %T does not fit", c.Name, v)
}

func (c *column) clear() {
	clear(c.texts) // strings would be kept
	c.there, c.ints, c.texts = c.there[:0], c.ints[:0], c.texts[:0]
}

// encode appends the values: as numbers of a dictionary, which it returns, or as they are.
func (c *column) encode(to []byte) (page, entries []byte, n int) {
	if c.Kind == Text {
		return encodeWith(to, c.texts, plainTexts)
	}
	return encodeWith(to, c.ints, plainInts)
}

func encodeWith[T comparable](to []byte, v []T, plain func([]byte, []T) []byte) (page, entries []byte, n int) {
	values, numbers, ok := dictionary(v)
	if !ok {
		return plain(to, v), nil, 0
	}
	return indexed(to, numbers, len(values)), plain(nil, values), len(values)
}

// chunk writes a column of the group, and says in meta where it is. It returns how
// many bytes it has before it is compressed.
func (w *Writer) chunk(c *column) int64 {
	w.page = append(w.page[:0], 0, 0, 0, 0) // the length of what follows
	w.page = hybrid(w.page, c.there, 1)
	binary.LittleEndian.PutUint32(w.page, uint32(len(w.page)-4))
	page, entries, n := c.encode(w.page)
	w.page = page

	start, size := w.offset, int64(0)
	encoding := int32(encodingPlain)
	if entries != nil {
		encoding = encodingDictionary
		size += w.putPage(entries, func(t *thrift) {
			t.i32(1, pageDictionary)
		}, func(t *thrift) {
			t.openField(7)
			t.i32(1, int32(n))
			t.i32(2, encodingPlain)
			t.end()
		})
	}
	data := w.offset
	size += w.putPage(page, func(t *thrift) {
		t.i32(1, pageData)
	}, func(t *thrift) {
		t.openField(5)
		t.i32(1, int32(len(c.there)))
		t.i32(2, encoding)
		t.i32(3, encodingRLE)
		t.i32(4, encodingRLE)
		t.end()
	})
	w.describe(c, start, data, size, encoding)
	c.clear()
	return size
}

// putPage writes a page: its header, of which head and tail write what differs by
// kind, and its bytes, compressed. It returns the size of both, uncompressed.
func (w *Writer) putPage(b []byte, head, tail func(*thrift)) int64 {
	if w.err != nil {
		return 0
	}
	w.zipped.Reset()
	w.zip.Reset(&w.zipped)
	if _, w.err = w.zip.Write(b); w.err == nil {
		w.err = w.zip.Close()
	}
	t := newThrift()
	head(t)
	t.i32(2, int32(len(b)))
	t.i32(3, int32(w.zipped.Len()))
	tail(t)
	t.end()
	w.write(t.b)
	w.write(w.zipped.Bytes())
	return int64(len(t.b) + len(b))
}

// describe writes a ColumnChunk of the group's metadata.
func (w *Writer) describe(c *column, start, data, size int64, encoding int32) {
	t := w.meta
	t.open()
	t.i64(2, 0)    // file_offset: of a copy of what follows, and there is none
	t.openField(3) // ColumnMetaData
	t.i32(1, c.physical())
	encodings := []int64{encodingPlain, encodingRLE, int64(encoding)}
	if encoding == encodingPlain {
		encodings = encodings[:2]
	}
	t.list(2, thriftI32, len(encodings))
	for _, e := range encodings {
		t.b = binary.AppendVarint(t.b, e)
	}
	t.list(3, thriftBinary, 1)
	t.element([]byte(c.Name))
	t.i32(4, codecGzip)
	t.i64(5, int64(len(c.there)))
	t.i64(6, size)
	t.i64(7, w.offset-start)
	t.i64(9, data)
	if data != start {
		t.i64(11, start)
	}
	c.statistics(t)
	t.end()
	t.end()
}

// statistics say what a reader may skip: nulls, and between which numbers all are.
func (c *column) statistics(t *thrift) {
	t.openField(12)
	defer t.end()
	t.i64(3, int64(len(c.there)-len(c.ints)-len(c.texts)))
	if len(c.ints) == 0 {
		return
	}
	least, most := c.ints[0], c.ints[0]
	for _, n := range c.ints {
		least, most = min(least, n), max(most, n)
	}
	t.binary(5, binary.LittleEndian.AppendUint64(nil, uint64(most)))
	t.binary(6, binary.LittleEndian.AppendUint64(nil, uint64(least)))
}
