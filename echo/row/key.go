package row

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// Key is the idempotency key of a row: 64 bits of its resource, scope, name, attributes, and time. Two rows of one
// second with the same key are the same row, sent twice. Of 300,000 different rows in a second two have the same key
// once in 13 years.
//
// A log's or span's name is all that tells it from others of its resource: see Identity.
func Key(r *Row, identity uint64) uint64 {
	var b [6 * 8]byte
	put := func(i int, v uint64) { binary.LittleEndian.PutUint64(b[i*8:], v) }
	put(0, uint64(r.Kind))
	put(1, uint64(r.Timestamp))
	put(2, xxhash.Sum64String(r.Resource))
	put(3, xxhash.Sum64String(r.Attrs))
	put(4, xxhash.Sum64String(r.Metric))
	put(5, identity)
	return xxhash.Sum64(b[:])
}

// Identity is the part of a key that is not in every row: texts in order. An empty text counts.
func Identity(texts ...string) uint64 {
	var d xxhash.Digest
	d.Reset()
	var length [8]byte
	for _, t := range texts {
		binary.LittleEndian.PutUint64(length[:], uint64(len(t)))
		_, _ = d.Write(length[:]) // never fails
		_, _ = d.WriteString(t)
	}
	return d.Sum64()
}
