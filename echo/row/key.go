package row

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// Key returns the idempotency key of a row: 64 bits of its resource, scope, name, attributes, and time, and of its
// cluster if no attribute names that. Two rows of one second with the same key are one row, sent twice. With 300,000
// different rows per second, two have the same key once in 13 years.
//
// For a log record or span, identity is all that distinguishes it from others of its resource: see Identity.
func Key(r *Row, identity uint64) uint64 {
	p := partsOf(r.Series, identity)
	return p.key(r.Timestamp)
}

// parts are the common parts of the keys of a series' rows: the kind, the resource, the attributes, the metric and
// the identity.
type parts [5]uint64

func partsOf(s *Series, identity uint64) parts {
	resource := xxhash.Sum64String(s.Resource)
	if s.ByRequest {
		resource = Identity(s.Resource, s.Cluster)
	}
	return parts{
		uint64(s.Kind), resource, xxhash.Sum64String(s.Attrs), xxhash.Sum64String(s.Metric), identity,
	}
}

func (p *parts) key(timestamp int64) uint64 {
	var b [6 * 8]byte
	put := func(i int, v uint64) { binary.LittleEndian.PutUint64(b[i*8:], v) }
	put(0, p[0])
	put(1, uint64(timestamp))
	put(2, p[1])
	put(3, p[2])
	put(4, p[3])
	put(5, p[4])
	return xxhash.Sum64(b[:])
}

// Identity returns the part of a key that not every row has, from texts in order. An empty text counts.
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
