package unwind

import "encoding/binary"

// PageBytes is the unit in which memory with gaps is copied.
const PageBytes = 4096

// Memory is a copy of a part of a process's memory: one piece, or two with a gap
// between them.
type Memory struct {
	Base uint64 // address of the first byte
	Data []byte
	Near int    // bytes of Data before the gap; 0: there is none
	Far  uint64 // address of the first byte after the gap
	// Pages has bit n%64 of word n/64 set if page n of Data was copied. Nil: all were.
	Pages []uint64
}

// at returns n bytes at an address, nil if not all of them were copied.
func (m *Memory) at(addr, n uint64) []byte {
	data, first, off := m.Data, uint64(0), addr-m.Base
	if near := uint64(m.Near); near > 0 && near < uint64(len(data)) {
		if off < near {
			data = data[:near]
		} else {
			data, first, off = data[near:], near/PageBytes, addr-m.Far
		}
	}
	if off >= uint64(len(data)) || uint64(len(data))-off < n {
		return nil
	}
	if m.Pages != nil && n > 0 && !(m.has(first+off/PageBytes) && m.has(first+(off+n-1)/PageBytes)) {
		return nil
	}
	return data[off : off+n]
}

func (m *Memory) has(page uint64) bool {
	return page/64 < uint64(len(m.Pages)) && m.Pages[page/64]>>(page%64)&1 != 0
}

// Word reads 8 bytes.
func (m *Memory) Word(addr uint64) (uint64, bool) {
	b := m.at(addr, 8)
	if b == nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}

// small reads the n low bytes at an address, n up to 8.
func (m *Memory) small(addr, n uint64) (uint64, bool) {
	if n == 0 || n > 8 {
		return 0, false
	}
	var b [8]byte
	from := m.at(addr, n)
	copy(b[:], from)
	return binary.LittleEndian.Uint64(b[:]), from != nil
}
