package unwind

import "encoding/binary"

// Memory is a copy of a piece of a process's memory.
type Memory struct {
	Base uint64 // address of the first byte
	Data []byte
}

// word reads 8 bytes.
func (m *Memory) word(addr uint64) (uint64, bool) {
	off := addr - m.Base
	if off >= uint64(len(m.Data)) || uint64(len(m.Data))-off < 8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(m.Data[off:]), true
}

// small reads the n low bytes at an address, n up to 8.
func (m *Memory) small(addr, n uint64) (uint64, bool) {
	off := addr - m.Base
	if n == 0 || n > 8 || off >= uint64(len(m.Data)) || uint64(len(m.Data))-off < n {
		return 0, false
	}
	var b [8]byte
	copy(b[:], m.Data[off:off+n])
	return binary.LittleEndian.Uint64(b[:]), true
}
