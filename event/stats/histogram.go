// Package stats has the arithmetic of latency: mergeable histograms and their percentiles. It is pure: no clock, no
// I/O.
package stats

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
)

// Scale is the resolution of a Histogram: 2^Scale buckets per power of two, as in the base-2 exponential histogram of
// the OpenTelemetry metrics data model and Prometheus native histograms. Scale 5 bounds the relative error of a
// quantile at (2^(1/32)-1)/2 = 1.09 %.
const Scale = 5

const perOctave = 1 << Scale

// maxIndex covers every uint64.
const maxIndex = 64 * perOctave

// Histogram counts non-negative integers in exponential buckets. The zero value is empty and ready. Bucket i > 0
// holds the values in (2^((i-1)/32), 2^(i/32)]; values 0 and 1 share bucket 0.
type Histogram struct {
	lo     int      // index of counts[0]
	counts []uint32 // saturating
	n      uint64
}

// bounds[i] is the largest mantissa, scaled by 2^52, in the i-th bucket of an octave: 2^(i/32).
var bounds = func() (b [perOctave + 1]uint64) {
	for i := range b {
		b[i] = uint64(math.Exp2(float64(i)/perOctave) * (1 << 52))
	}
	return
}()

// sliceBits cuts an octave into slices narrower than any bucket, so that a slice has at most one bound.
const sliceBits = 8

// first[k] is the bucket of the smallest mantissa of slice k.
var first = func() (f [1 << sliceBits]uint8) {
	i := 0
	for k := range f {
		for bounds[i] < 1<<52|uint64(k)<<(52-sliceBits) {
			i++
		}
		f[k] = uint8(i)
	}
	return
}()

// bucket returns the index of v's bucket.
func bucket(v uint64) int {
	if v <= 1 {
		return 0
	}
	e := bits.Len64(v) - 1
	// The mantissa, in [2^52, 2^53). Values above 2^53 lose low bits, far below the error bound.
	m := v << (63 - e) >> 11
	i := int(first[uint8(m>>(52-sliceBits))])
	if bounds[i] < m {
		i++
	}
	return e*perOctave + i
}

// upper returns the largest value of bucket i, as a float.
func upper(i int) float64 { return math.Exp2(float64(i) / perOctave) }

// Add counts v once.
func (h *Histogram) Add(v uint64) { h.AddN(v, 1) }

// AddN counts v n times.
func (h *Histogram) AddN(v uint64, n uint32) {
	if n == 0 {
		return
	}
	i := bucket(v)
	if uint(i-h.lo) >= uint(len(h.counts)) {
		h.grow(i, i)
	}
	c := &h.counts[i-h.lo]
	*c = addSat(*c, n)
	h.n += uint64(n)
}

func addSat(a, b uint32) uint32 {
	if s := a + b; s >= a {
		return s
	}
	return math.MaxUint32
}

// grow makes room for the bucket indexes from lo to hi.
func (h *Histogram) grow(lo, hi int) {
	if len(h.counts) == 0 {
		h.lo = lo
		n := hi - lo + 1
		if cap(h.counts) < n {
			h.counts = make([]uint32, n, max(n, 2*perOctave))
			return
		}
		h.counts = h.counts[:n]
		clear(h.counts)
		return
	}
	if lo < h.lo {
		c := make([]uint32, len(h.counts)+h.lo-lo)
		copy(c[h.lo-lo:], h.counts)
		h.counts, h.lo = c, lo
	}
	if n := hi - h.lo + 1; n > len(h.counts) {
		h.counts = append(h.counts, make([]uint32, n-len(h.counts))...)
	}
}

// Merge adds o's counts to h.
func (h *Histogram) Merge(o *Histogram) {
	if o == nil || len(o.counts) == 0 {
		return
	}
	h.grow(o.lo, o.lo+len(o.counts)-1)
	for i, c := range o.counts {
		j := o.lo + i - h.lo
		h.counts[j] = addSat(h.counts[j], c)
	}
	h.n += o.n
}

// Reset empties h and keeps its memory.
func (h *Histogram) Reset() {
	h.counts = h.counts[:0]
	h.n = 0
}

// Bucket returns the index of the bucket that counts v.
func Bucket(v uint64) int { return bucket(v) }

// Each calls f for each bucket that is not empty, in order, with its index and count.
func (h *Histogram) Each(f func(i int, n uint32)) {
	for i, c := range h.counts {
		if c > 0 {
			f(h.lo+i, c)
		}
	}
}

// Count returns how many values were added.
func (h *Histogram) Count() uint64 { return h.n }

// Quantile returns the value below which a share q in [0, 1] of the values lies, with a relative error of at most 1.1
// % before rounding to a whole number; 0 if the histogram is empty.
func (h *Histogram) Quantile(q float64) uint64 {
	i := h.rank(q)
	switch {
	case i < 0:
		return 0
	case i == 0:
		return 1
	}
	// The middle of the bucket halves the error of its bounds.
	return uint64(math.Round((upper(i) + upper(i-1)) / 2))
}

// Covers returns a value that at least a share q in [0, 1] of the values do not exceed: the end of the quantile's
// bucket, at most 2.2 % above it; 0 if the histogram is empty. Of many nearly equal values, half may be above their
// Quantile, but none is above this. Exact up to 2^53.
func (h *Histogram) Covers(q float64) uint64 {
	i := h.rank(q)
	if i < 0 {
		return 0
	}
	if u := upper(i); u < math.MaxUint64 {
		return uint64(u)
	}
	return math.MaxUint64
}

// rank returns the bucket of the value that a share q of the values does not exceed; -1 if the histogram is empty.
func (h *Histogram) rank(q float64) int {
	var total uint64
	for _, c := range h.counts {
		total += uint64(c)
	}
	if total == 0 {
		return -1
	}
	rank := uint64(math.Ceil(q * float64(total)))
	rank = min(max(rank, 1), total)
	i := 0
	for ; uint64(h.counts[i]) < rank; i++ {
		rank -= uint64(h.counts[i])
	}
	return h.lo + i
}

// Below returns how many values are in buckets that end at or below v, and their approximate sum, with each value at
// the middle of its bucket.
func (h *Histogram) Below(v uint64) (n, sum uint64) {
	var s float64
	for i, c := range h.counts {
		u := upper(h.lo + i)
		if u > float64(v) {
			break
		}
		n += uint64(c)
		s += float64(c) * (u + upper(h.lo+i-1)) / 2
	}
	return n, uint64(s)
}

// AppendBinary writes h as: version byte, uvarint lowest index, then for each bucket from there a uvarint count, runs
// of empty buckets as 0 followed by their number.
func (h *Histogram) AppendBinary(b []byte) ([]byte, error) {
	b = append(b, 1)
	b = binary.AppendUvarint(b, uint64(h.lo))
	for i := 0; i < len(h.counts); i++ {
		c := h.counts[i]
		b = binary.AppendUvarint(b, uint64(c))
		if c != 0 {
			continue
		}
		run := 1
		for i+run < len(h.counts) && h.counts[i+run] == 0 {
			run++
		}
		b = binary.AppendUvarint(b, uint64(run))
		i += run - 1
	}
	return b, nil
}

var errHistogram = errors.New("malformed histogram")

// UnmarshalBinary replaces h with what AppendBinary wrote. After an error h is unspecified but usable.
func (h *Histogram) UnmarshalBinary(b []byte) error {
	if len(b) == 0 || b[0] != 1 {
		return errHistogram
	}
	b = b[1:]
	next := func() (uint64, bool) {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return 0, false
		}
		b = b[n:]
		return v, true
	}
	lo, ok := next()
	if !ok || lo > maxIndex {
		return errHistogram
	}
	h.lo, h.counts, h.n = int(lo), h.counts[:0], 0
	for len(b) > 0 {
		c, ok := next()
		if !ok || c > math.MaxUint32 {
			return errHistogram
		}
		run := uint64(1)
		if c == 0 {
			if run, ok = next(); !ok || run == 0 {
				return errHistogram
			}
		}
		if room := maxIndex + 1 - h.lo - len(h.counts); room < 0 || run > uint64(room) {
			return errHistogram
		}
		for range run {
			h.counts = append(h.counts, uint32(c))
		}
		h.n += c
	}
	return nil
}
