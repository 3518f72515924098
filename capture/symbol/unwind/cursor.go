package unwind

import "encoding/binary"

// cursor reads little-endian DWARF data. Reading past the end gives zeros and
// sets bad, so that a caller checks once.
type cursor struct {
	b   []byte
	at  int
	bad bool
}

func (c *cursor) left() int { return len(c.b) - c.at }

func (c *cursor) bytes(n uint64) []byte {
	if c.bad || n > uint64(c.left()) {
		c.bad = true
		c.at = len(c.b)
		return nil
	}
	b := c.b[c.at : c.at+int(n)]
	c.at += int(n)
	return b
}

func (c *cursor) u8() uint8 {
	if b := c.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	if b := c.bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// uleb reads an unsigned LEB128 number; bits above the 64th are dropped.
func (c *cursor) uleb() uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		b := c.u8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b&0x80 == 0 {
			return v
		}
	}
}

// sleb reads a signed LEB128 number; bits above the 64th are dropped.
func (c *cursor) sleb() int64 {
	var v int64
	for shift := uint(0); ; {
		b := c.u8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		shift += 7
		if b&0x80 == 0 {
			if shift < 64 && b&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// cString reads up to a NUL.
func (c *cursor) cString() string {
	from := c.at
	for c.u8() != 0 {
	}
	if c.bad {
		return ""
	}
	return string(c.b[from : c.at-1])
}

// How pointers are written: DW_EH_PE_* of the Linux Standard Base.
const (
	encFormat   = 0x0f
	encRelative = 0x70
	encPC       = 0x10
	encData     = 0x30
	encIndirect = 0x80
	encOmit     = 0xff
)

// pointer reads an encoded pointer whose first byte is at address here; data is
// the base of data-relative ones. ok is false for other encodings.
func (c *cursor) pointer(enc uint8, here, data uint64) (v uint64, ok bool) {
	switch enc & encFormat {
	case 0x0, 0x4, 0xc: // absptr, udata8, sdata8
		v = c.u64()
	case 0x1:
		v = c.uleb()
	case 0x2:
		v = uint64(c.u16())
	case 0x3:
		v = uint64(c.u32())
	case 0x9:
		v = uint64(c.sleb())
	case 0xa:
		v = uint64(int64(int16(c.u16())))
	case 0xb:
		v = uint64(int64(int32(c.u32())))
	default:
		return 0, false
	}
	switch enc & encRelative {
	case 0:
	case encPC:
		v += here
	case encData:
		v += data
	default:
		return 0, false
	}
	return v, enc&encIndirect == 0 && !c.bad
}
