package unwind

import (
	"bytes"
	"testing"
)

// Damaged tables of a file give no rules or wrong ones, but no panic or hang.
func FuzzTables(f *testing.F) {
	if b, err := readVDSO(); err == nil { // a small, complete file
		f.Add(b, uint64(0x800))
	}
	f.Fuzz(func(t *testing.T, b []byte, pc uint64) {
		tab, err := open(bytes.NewReader(b))
		if err != nil {
			return
		}
		mem := &Memory{Base: 0x7000, Data: make([]byte, 256)}
		for range 64 {
			r := tab.arch.Start(pc, 0x7000, make([]uint64, len(tab.arch.Saved)))
			if w := tab.row(pc); w != nil {
				w.step(tab.arch, &r, mem)
			}
			pc += 0x61
		}
	})
}

func FuzzInstructions(f *testing.F) {
	f.Add([]byte{0x0c, 7, 8, 0x90, 1}, []byte{0x41, 0x0e, 16, 0x0a, 0x0b, 0x0f, 2, 0x77, 0}, uint64(3))
	f.Fuzz(func(t *testing.T, common, program []byte, pc uint64) {
		c := &cie{code: 1, data: -8, ra: 16, program: common}
		w, ok := rowAt(c, &fde{start: 0, size: ^uint64(0), program: program}, pc)
		if ok != (w != nil) {
			t.Fatalf("%v, %v", w, ok)
		}
		if ok {
			r := AMD64.Start(pc, 0x7000, make([]uint64, 6))
			w.step(AMD64, &r, &Memory{Base: 0x7000, Data: make([]byte, 256)})
		}
	})
}
