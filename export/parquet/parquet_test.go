package parquet

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// unhybrid reads what hybrid writes, so many numbers.
func unhybrid(t *testing.T, b []byte, n, width int) (v []uint32) {
	t.Helper()
	for len(v) < n {
		head, shift := uint64(0), 0
		for {
			if len(b) == 0 {
				t.Fatalf("the bytes end after %d of %d numbers", len(v), n)
			}
			c := b[0]
			head, shift, b = head|uint64(c&0x7f)<<shift, shift+7, b[1:]
			if c < 0x80 {
				break
			}
		}
		if head&1 == 0 {
			var x uint32
			for k := 0; k < width; k += 8 {
				x, b = x|uint32(b[0])<<k, b[1:]
			}
			v = append(v, slices.Repeat([]uint32{x}, int(head>>1))...)
			continue
		}
		size := int(head>>1) * width
		for i := range int(head>>1) * 8 {
			var x uint32
			for k := range width {
				bit := i*width + k
				x |= uint32(b[bit/8]>>(bit%8)&1) << k
			}
			v = append(v, x)
		}
		b = b[size:]
	}
	if len(b) != 0 || len(v)-n >= 8 {
		t.Fatalf("%d bytes are left, and %d numbers more than %d", len(b), len(v)-n, n)
	}
	return v[:n]
}

func TestRunsAndPackedNumbersAreReadBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		width := 1 + rng.IntN(20)
		var v []uint32
		for len(v) == 0 || rng.IntN(6) > 0 {
			v = append(v, slices.Repeat([]uint32{rng.Uint32N(1 << width)}, 1+rng.IntN(1+rng.IntN(20)))...)
		}
		if got := unhybrid(t, hybrid(nil, v, width), len(v), width); !slices.Equal(got, v) {
			t.Fatalf("of %d bits: %v became %v", width, v, got)
		}
	}
}

func TestDictionariesAreMadeWhereTheySave(t *testing.T) {
	values, numbers, ok := dictionary([]string{"a", "b", "a", "a"})
	if !ok || !slices.Equal(values, []string{"a", "b"}) || !slices.Equal(numbers, []uint32{0, 1, 0, 0}) {
		t.Errorf("values %v, numbers %v, %v", values, numbers, ok)
	}
	if _, _, ok := dictionary([]int64{1, 2, 3, 4}); ok {
		t.Error("all are different, and there is a dictionary")
	}
	if _, _, ok := dictionary([]int64(nil)); ok {
		t.Error("there is nothing, and a dictionary of it")
	}
}

// full is a disk that is.
type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWhatDoesNotFitIsRefused(t *testing.T) {
	columns := []Column{{"n", Integer}, {"s", Text}}
	for _, row := range [][]any{{"text", "text"}, {int64(1), int64(1)}, {1.5, nil}, {int64(1)}} {
		if err := NewWriter(io.Discard, columns).Row(row); err == nil {
			t.Errorf("%v is taken", row)
		}
	}
	w := NewWriter(full{}, columns)
	if err := errors.Join(w.Row([]any{int64(1), nil}), w.Close()); !errors.Is(err, errFull) {
		t.Errorf("the disk is full, and the error %v", err)
	}
}
