package python

import (
	"unicode/utf16"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/event"
)

// Code is a code object as the kernel sent it.
type Code struct {
	name, file string
	first      int32
	format     bpf.WirePyTable
	table      []byte
	size       int // of the whole table
}

// NewCode reads a code object from its first record; more of its line table may
// follow. piece is the part of the table that came with it.
func NewCode(r *bpf.WirePycodeRec, piece []byte) *Code {
	return &Code{
		name: pyText(r.Name[:], r.NameStr), file: pyText(r.File[:], r.FileStr),
		first: r.Firstline, format: bpf.WirePyTable(r.H.Sub), table: append([]byte(nil), piece...), size: int(r.TableBytes),
	}
}

// Size is the memory that it takes, in bytes, with what was added of its line table.
func (c *Code) Size() int { return len(c.name) + len(c.file) + len(c.table) + 128 }

// Append adds the piece of the line table that begins at the given offset. It
// reports whether that is where the last one ended.
func (c *Code) Append(at uint32, piece []byte) bool {
	if int(at) != len(c.table) || len(c.table)+len(piece) > c.size {
		return false
	}
	c.table = append(c.table, piece...)
	return true
}

// Frame is a frame that executes the instruction at a byte offset. The line is 0
// if the instruction belongs to none.
func (c *Code) Frame(instr int32) event.Frame {
	f := event.Frame{Kind: event.FramePython, Symbol: c.name, File: c.file}
	if l := c.line(int(instr)); l > 0 {
		f.Line = uint32(l)
	}
	return f
}

func (c *Code) line(instr int) int {
	first := int(c.first)
	if instr < 0 {
		return first // called, but not begun
	}
	switch c.format {
	case lnotab:
		return lnotabLine(c.table, first, instr)
	case lines:
		return linesLine(c.table, first, instr)
	case locations:
		return locationsLine(c.table, first, instr)
	}
	return 0
}

// pyText decodes a str. Of one that is too long only the end was sent.
func pyText(b []byte, s bpf.WirePyStr) string {
	width := int(s.State >> 2 & 7) // PyASCIIObject.state.kind
	n := int(s.Length) * width
	cut := ""
	if n > len(b) {
		n, cut = len(b), "…"
	}
	b = b[:n]
	var r []rune
	switch width {
	case 1:
		for _, c := range b { // Latin-1
			r = append(r, rune(c))
		}
	case 2:
		for i := 0; i+1 < n; i += 2 {
			r = append(r, rune(b[i])|rune(b[i+1])<<8)
		}
	case 4:
		for i := 0; i+3 < n; i += 4 {
			r = append(r, rune(b[i])|rune(b[i+1])<<8|rune(b[i+2])<<16|rune(b[i+3])<<24)
		}
	}
	for i, c := range r {
		if utf16.IsSurrogate(c) { // a byte that is not UTF-8, as os.fsdecode keeps it
			r[i] = '\uFFFD'
		}
	}
	return cut + string(r)
}
