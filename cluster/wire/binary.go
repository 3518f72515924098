package wire

import (
	"encoding/binary"
	"fmt"
	"math"
)

// scanner parses fixed layouts: little-endian numbers and varints. It keeps the first error, and reads zeros after
// it.
type scanner struct {
	b   []byte
	err error
	// The place for errors: an element of a list, or, if index is negative, of a part.
	list  string
	index int
}

func (s *scanner) fail(f Fault, field, format string, args ...any) {
	if s.err != nil {
		return
	}
	switch {
	case s.list != "" && s.index >= 0:
		field = fmt.Sprintf("%s[%d].%s", s.list, s.index, field)
	case s.list != "":
		field = s.list + "." + field
	}
	s.err = wrong(f, field, format, args...)
}

func (s *scanner) take(n int, field string) []byte {
	if s.err != nil {
		return nil
	}
	if len(s.b) < n {
		s.fail(Malformed, field, "is truncated")
		return nil
	}
	v := s.b[:n]
	s.b = s.b[n:]
	return v
}

func (s *scanner) uint8(field string) uint8 {
	if v := s.take(1, field); v != nil {
		return v[0]
	}
	return 0
}

func (s *scanner) uint16(field string) uint16 {
	if v := s.take(2, field); v != nil {
		return binary.LittleEndian.Uint16(v)
	}
	return 0
}

func (s *scanner) uint32(field string) uint32 {
	if v := s.take(4, field); v != nil {
		return binary.LittleEndian.Uint32(v)
	}
	return 0
}

func (s *scanner) uint64(field string) uint64 {
	if v := s.take(8, field); v != nil {
		return binary.LittleEndian.Uint64(v)
	}
	return 0
}

// float reads a number that must be finite.
func (s *scanner) float(field string) float32 {
	v := math.Float32frombits(s.uint32(field))
	if !finite(v) {
		s.fail(Value, field, "is not finite")
		return 0
	}
	return v
}

// varint reads a number from least to most.
func (s *scanner) varint(field string, least, most uint64) uint64 {
	if s.err != nil {
		return 0
	}
	v, n := binary.Uvarint(s.b)
	switch {
	case n == 0:
		s.fail(Malformed, field, "is truncated")
		return 0
	case n < 0:
		s.fail(Malformed, field, "is a number of more than 64 bits")
		return 0
	}
	s.b = s.b[n:]
	if v < least || v > most {
		s.fail(Value, field, "is %d; from %d to %d", v, least, most)
		return 0
	}
	return v
}

// end checks that all bytes were read.
func (s *scanner) end() error {
	if s.list = ""; len(s.b) > 0 {
		s.fail(Malformed, "end", "%d bytes too many", len(s.b))
	}
	return s.err
}

// version reads the first byte, which must be the known version.
func (s *scanner) version(known uint8) {
	switch v := s.uint8("version"); {
	case s.err != nil:
	case v > known:
		s.fail(Version, "version", "is %d, which is newer than %d, the only one known here", v, known)
	case v < known:
		s.fail(Version, "version", "is %d; only %d is known here", v, known)
	}
}

func appendFloat(b []byte, v float32) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
}

func finite[T float32 | float64](v T) bool { return v-v == 0 } // neither NaN nor infinite

func zigzag(v int32) uint64 { return uint64(uint32(v<<1) ^ uint32(v>>31)) }

func unzigzag(v uint64) int32 { return int32(uint32(v)>>1) ^ -int32(v&1) }
