package unwind

import (
	"encoding/binary"
	"testing"
)

func TestReplacedReturnAddressesAreKnown(t *testing.T) {
	// Page tables of four levels, and of five.
	for _, tramp := range []uint64{0x7fff_ffff_e000, 0x00ff_ffff_ffff_e000} {
		words := []uint64{1, tramp, 3, 0x00ab_0000_0000_0000 | tramp, 5, tramp, tramp}
		m := &Memory{Base: 0x1000, Trampoline: tramp, Returns: []Return{
			// x86-64: at the slot itself; arm64: below it, and signed; a tail call shares its slot.
			{At: 0x1008, To: 0x11},
			{At: 0x1020, To: tramp},
			{At: 0x1020, To: 0x22},
			{At: 0x1028, To: 0x33},
		}}
		for _, v := range words {
			m.Data = binary.LittleEndian.AppendUint64(m.Data, v)
		}
		for i, want := range []uint64{1, 0x11, 3, 0x22, 5, 0x33} {
			if got, ok := m.Word(m.Base + uint64(8*i)); got != want || !ok {
				t.Errorf("word %d is %#x, %v, want %#x", i, got, ok, want)
			}
		}
		if got, ok := m.Word(0x1030); ok {
			t.Errorf("a return address that is not known is %#x", got)
		}
		m.Trampoline, m.Returns = 0, nil
		if got, ok := m.Word(0x1008); got != tramp || !ok {
			t.Errorf("nothing was replaced: %#x, %v", got, ok)
		}
	}
}
