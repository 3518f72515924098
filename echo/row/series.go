package row

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// Series is what all points of a metric with the same attributes have in common.
type Series struct {
	Kind          Kind
	Cluster, Node string
	// ByRequest: the cluster is the one that the request named, and in no attribute.
	ByRequest bool
	// Rank is None if it is not known, NRanks 0.
	Rank, NRanks int32

	Metric, Unit string
	// Temporality of a sum or histogram is "delta" or "cumulative", or NonMonotonic.
	Temporality string

	// Attrs and Resource are JSON objects with sorted names.
	Attrs, Resource string
	Scope           string

	id    ID
	parts parts // of its points' keys
}

// NonMonotonic is the temporality of a cumulative sum that also falls, such as of memory in use: its value is what
// there is, like that of a gauge.
const NonMonotonic = "non_monotonic"

// ID identifies a series: 128 bits of a hash of all its fields. The hash must not change, since IDs are stored.
type ID [2]uint64

// NewSeries returns a series that has an ID.
func NewSeries(s Series) *Series {
	s.parts = partsOf(&s, Identity(s.Scope))
	s.id = ID{s.sum(0), s.sum(1)}
	return &s
}

// ID returns the series' identity. The series must have been made by NewSeries.
func (s *Series) ID() ID {
	if s.id == (ID{}) {
		panic("row: a series without an ID")
	}
	return s.id
}

// Key returns the key of its point at a time: that of Key, with the scope as its identity.
func (s *Series) Key(timestamp int64) uint64 { return s.parts.key(timestamp) }

// sum returns a 64-bit hash of all fields, which depends on the seed.
func (s *Series) sum(seed uint64) uint64 {
	d := xxhash.NewWithSeed(seed)
	var n [8]byte
	number := func(v uint64) {
		binary.LittleEndian.PutUint64(n[:], v)
		_, _ = d.Write(n[:]) // never fails
	}
	for _, t := range []string{
		s.Kind.String(), s.Cluster, s.Node, s.Metric, s.Unit, s.Temporality, s.Attrs, s.Resource, s.Scope,
	} {
		number(uint64(len(t)))
		_, _ = d.WriteString(t)
	}
	number(uint64(s.Rank))
	number(uint64(s.NRanks))
	return d.Sum64()
}
