package parquet

import (
	"encoding/binary"
	"math/bits"
)

// hybrid appends numbers of so many bits as runs of one value, or packed eight by
// eight (Encodings.md, RLE/Bit-Packing Hybrid).
func hybrid(to []byte, v []uint32, width int) []byte {
	for i := 0; i < len(v); {
		if n := equal(v[i:], len(v)); n >= 8 {
			to = binary.AppendUvarint(to, uint64(n)<<1)
			for k := 0; k < width; k += 8 {
				to = append(to, byte(v[i]>>k))
			}
			i += n
			continue
		}
		from := i
		for i < len(v) && equal(v[i:], 8) < 8 {
			i = min(i+8, len(v))
		}
		to = pack(to, v[from:i], width)
	}
	return to
}

// equal is how many numbers at the beginning are the same, most at most.
func equal(v []uint32, most int) int {
	for n := range v[:min(len(v), most)] {
		if v[n] != v[0] {
			return n
		}
	}
	return min(len(v), most)
}

// pack appends numbers packed, filled up with zeros to a multiple of eight.
func pack(to []byte, v []uint32, width int) []byte {
	groups := (len(v) + 7) / 8
	to = binary.AppendUvarint(to, uint64(groups)<<1|1)
	var bit uint64
	have := 0
	for i := range groups * 8 {
		if i < len(v) {
			bit |= uint64(v[i]) << have
		}
		for have += width; have >= 8; have -= 8 {
			to = append(to, byte(bit))
			bit >>= 8
		}
	}
	return to
}

// maxDictionary bounds the dictionary of a column in a group of rows.
const maxDictionary = 1 << 15

// dictionary numbers the different values, in the order in which they come. ok is
// false where it would save little.
func dictionary[T comparable](v []T) (values []T, numbers []uint32, ok bool) {
	most := min(len(v)/2, maxDictionary)
	known := make(map[T]uint32, min(most, 64))
	numbers = make([]uint32, len(v))
	for i, x := range v {
		n, ok := known[x]
		if !ok {
			if n = uint32(len(values)); len(values) >= most {
				return nil, nil, false
			}
			known[x] = n
			values = append(values, x)
		}
		numbers[i] = n
	}
	return values, numbers, len(values) > 0
}

// indexed appends numbers of a dictionary as a page holds them.
func indexed(to []byte, numbers []uint32, values int) []byte {
	width := max(bits.Len(uint(values-1)), 1)
	return hybrid(append(to, byte(width)), numbers, width)
}

// plainInts and plainTexts append values as they are.
func plainInts(to []byte, v []int64) []byte {
	for _, n := range v {
		to = binary.LittleEndian.AppendUint64(to, uint64(n))
	}
	return to
}

func plainTexts(to []byte, v []string) []byte {
	for _, s := range v {
		to = append(binary.LittleEndian.AppendUint32(to, uint32(len(s))), s...)
	}
	return to
}
