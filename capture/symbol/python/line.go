package python

// lnotabLine finds a line in co_lnotab of 3.8 and 3.9 (Objects/lnotab_notes.txt):
// pairs of increments, of the byte offset and of the line (signed).
func lnotabLine(t []byte, first, instr int) int {
	line, at := first, 0
	for i := 0; i+1 < len(t); i += 2 {
		at += int(t[i])
		if at > instr {
			break
		}
		line += int(int8(t[i+1]))
	}
	return line
}

// linesLine finds a line in co_linetable of 3.10 (PEP 626): pairs of a number of
// code bytes and a signed increment of the line; -128 is no line.
func linesLine(t []byte, first, instr int) int {
	line, end := first, 0
	for i := 0; i+1 < len(t); i += 2 {
		delta := int(int8(t[i+1]))
		if delta != -128 {
			line += delta
		}
		end += int(t[i])
		if instr < end {
			if delta == -128 {
				return 0
			}
			return line
		}
	}
	return 0
}

// The entries of a location table that are not the short form.
const (
	codeOneLine   = 10 // to 12: the line advances by 0 to 2
	codeNoColumns = 13
	codeLong      = 14
	codeNone      = 15
)

// locationsLine finds a line in co_linetable from 3.11 on (Objects/locations.md).
// An entry is a head byte (a code, and the number of two-byte instructions) and the
// data of that code.
func locationsLine(t []byte, first, instr int) int {
	r := varints{t: t}
	line, at := first, 0
	for r.i < len(t) {
		head := int(r.byte())
		code, units := head>>3&15, head&7+1
		switch {
		case code == codeNone:
		case code == codeLong:
			line += r.signed()
			r.unsigned()
			r.unsigned()
			r.unsigned()
		case code == codeNoColumns:
			line += r.signed()
		case code >= codeOneLine:
			line += code - codeOneLine
			r.i += 2
		default:
			r.i++
		}
		at += 2 * units
		if instr < at {
			if code == codeNone {
				return 0
			}
			return line
		}
	}
	return 0
}

// varints reads numbers of six bits per byte, least significant first. Past the
// end it reads zeros.
type varints struct {
	t []byte
	i int
}

func (r *varints) byte() byte {
	if r.i >= len(r.t) {
		return 0
	}
	r.i++
	return r.t[r.i-1]
}

func (r *varints) unsigned() int {
	v := 0
	for shift := 0; shift < 36; shift += 6 {
		b := r.byte()
		v |= int(b&63) << shift
		if b&64 == 0 {
			break
		}
	}
	return v
}

// signed reads a number whose lowest bit is its sign.
func (r *varints) signed() int {
	u := r.unsigned()
	if u&1 != 0 {
		return -(u >> 1)
	}
	return u >> 1
}
