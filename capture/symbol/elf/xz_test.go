package elf

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/ingero-io/ingero/capture/limit"
)

// packed packs data in blocks of up to size bytes.
func packed(t testing.TB, data []byte, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := xz.WriterConfig{BlockSize: size}.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWhatIsPackedIsUnpacked(t *testing.T) {
	for name, c := range map[string]struct{ bytes, block int }{
		"nothing": {0, 1 << 20}, "little": {5, 1 << 20}, "one block": {100_000, 1 << 20}, "three blocks": {100_000, 40_000},
	} {
		data := make([]byte, c.bytes)
		for i := range data {
			data[i] = byte(i * i >> 8)
		}
		got, err := unpack(packed(t, data, int64(c.block)))
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(data), err)
		}
	}
	for size, exceeds := range map[uint64]bool{limit.Unpacked: false, limit.Unpacked + 1: true, 1<<63 - 1: true} {
		index := binary.AppendUvarint([]byte{0, 1, 1}, size) // one block
		index = append(index, make([]byte, 4-len(index)%4)...)
		footer := binary.LittleEndian.AppendUint32(make([]byte, 4, 12), uint32(len(index)/4)) // a checksum before it
		file := slices.Concat([]byte(xzMagic), make([]byte, 6), index, make([]byte, 4), footer, []byte("\x00\x01YZ"))
		if n, err := unpackedSize(file); limit.Is(err) != exceeds || !exceeds && n != size {
			t.Errorf("a file of %d bytes: %d, %v", size, n, err)
		}
	}
}

// FuzzUnpack: nothing makes more bytes than a file says that it has, nor a panic.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte{})
	f.Add(packed(f, []byte("little"), 1<<20))
	f.Add(packed(f, bytes.Repeat([]byte("several blocks"), 300), 2000))
	f.Fuzz(func(t *testing.T, b []byte) {
		size, err := unpackedSize(b)
		if err != nil {
			return
		}
		if got, _ := unpack(b); uint64(len(got)) > size || size > limit.Unpacked {
			t.Errorf("%d bytes of %d", len(got), size)
		}
	})
}
