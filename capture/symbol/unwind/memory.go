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

	Trampoline uint64   // what the kernel put in the place of return addresses; 0: nothing
	Returns    []Return // the addresses that it replaced, innermost first
}

// Return is a return address that is not on the stack: the kernel replaced it to probe the return.
type Return struct {
	At uint64 // the stack pointer when the function was entered
	To uint64
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

// Word reads 8 bytes. Of return addresses that the kernel replaced it gives the original, if that is
// known.
func (m *Memory) Word(addr uint64) (uint64, bool) {
	b := m.at(addr, 8)
	if b == nil {
		return 0, false
	}
	v := binary.LittleEndian.Uint64(b)
	if m.Trampoline != 0 && v&address == m.Trampoline&address {
		return m.replaced(addr)
	}
	return v, true
}

// address is the bits of a word in which there is no signature on arm64. Where page tables have
// five levels, the bits of a signature belong to the address.
const address = 1<<48 - 1

// replaced is the return address that the kernel replaced at an address. On x86-64 that is where the
// stack pointer was at the entry, on arm64 somewhere below, where the function saved it.
func (m *Memory) replaced(addr uint64) (uint64, bool) {
	for _, r := range m.Returns {
		// Of a tail call, the next one has the address.
		if addr <= r.At && r.To != m.Trampoline {
			return r.To, true
		}
	}
	return 0, false
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
