package python

import (
	"encoding/binary"
	"slices"
	"testing"
)

// FuzzOffsets: an interpreter, or what is called like one, says where the fields of its structures are. Whatever it
// says, and whatever is in its memory, a walk ends, with no more frames than it may have.
func FuzzOffsets(f *testing.F) {
	seed := func(version uint64, field func(i int) uint64) []byte {
		b := append([]byte(cookie), make([]byte, 16)...)
		binary.LittleEndian.PutUint64(b[8:], version)
		names := debugOffsets[Version(version).Minor()]
		for i, n := range names {
			v, known := fixed[n]
			if !known {
				v = field(i)
			}
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		return b
	}
	const v313, v314 = 0x030d00f0, 0x030e00f0
	for _, v := range []uint64{v313, v314} {
		f.Add(seed(v, func(i int) uint64 { return uint64(i) % 16 * 8 }), []byte{1, 0, 0, 0, 0, 0, 0, 0})
		f.Add(seed(v, func(int) uint64 { return 1<<64 - 8 }), []byte{1})
		f.Add(seed(v, func(i int) uint64 { return -(uint64(i) % 9) }), []byte{0xff})
		f.Add(seed(v, func(i int) uint64 { return uint64(i) % 8 }), []byte{7})
	}
	f.Fuzz(func(t *testing.T, offsets, memory []byte) {
		_, known, err := parseOffsets(offsets)
		if err != nil {
			return
		}
		l, err := known.layout(0x1000)
		if err != nil {
			return
		}
		read := func(addr uint64, b []byte) bool {
			for i := range b {
				if len(memory) > 0 {
					b[i] = memory[(addr+uint64(i))%uint64(len(memory))]
				}
			}
			return len(memory) > 0
		}
		for _, thread := range []uint64{0, 1, read64(memory)} {
			if frames, _ := Walk(read, &l, thread); len(frames) > maxFrames+1 {
				t.Errorf("%d frames", len(frames))
			}
		}
	})
}

func read64(b []byte) uint64 {
	return binary.LittleEndian.Uint64(append(slices.Clip(b), make([]byte, 8)...))
}
