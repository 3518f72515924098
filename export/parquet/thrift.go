package parquet

import "encoding/binary"

// Types of fields and elements in Thrift's compact protocol
// (thrift-compact-protocol.md).
const (
	thriftTrue   = 1
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

// thrift is a struct being written: fields in order of their numbers, then end.
type thrift struct {
	b    []byte
	last []int // number of the latest field, of each struct that is open
}

func newThrift() *thrift { return &thrift{last: []int{0}} }

// field begins a field.
func (t *thrift) field(id int, kind byte) {
	last := &t.last[len(t.last)-1]
	t.b = append(t.b, byte(id-*last)<<4|kind) // no struct of the format has gaps of 16
	*last = id
}

func (t *thrift) i32(id int, v int32) {
	t.field(id, thriftI32)
	t.b = binary.AppendVarint(t.b, int64(v))
}

func (t *thrift) i64(id int, v int64) {
	t.field(id, thriftI64)
	t.b = binary.AppendVarint(t.b, v)
}

func (t *thrift) binary(id int, v []byte) {
	t.field(id, thriftBinary)
	t.element(v)
}

// element is an element of a list of binaries.
func (t *thrift) element(v []byte) {
	t.b = append(binary.AppendUvarint(t.b, uint64(len(v))), v...)
}

// list begins a list, whose elements follow.
func (t *thrift) list(id int, kind byte, n int) {
	t.field(id, thriftList)
	if n < 15 {
		t.b = append(t.b, byte(n)<<4|kind)
		return
	}
	t.b = binary.AppendUvarint(append(t.b, 0xf0|kind), uint64(n))
}

// open begins a struct that is an element of a list.
func (t *thrift) open() { t.last = append(t.last, 0) }

// openField begins a struct that is a field.
func (t *thrift) openField(id int) {
	t.field(id, thriftStruct)
	t.open()
}

// end ends a struct.
func (t *thrift) end() {
	t.b = append(t.b, 0)
	t.last = t.last[:len(t.last)-1]
}

// empty is a field that is a struct without fields, as the unions of the format have.
func (t *thrift) empty(id int) {
	t.openField(id)
	t.end()
}
