package wire

import (
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// Parsing of OTLP messages: protobuf fields, and attributes.

// field is a field of a protobuf message. A field with a length has bytes, any other has number.
type field struct {
	number protowire.Number
	kind   protowire.Type
	bytes  []byte
	value  uint64
}

func (f *field) is(n protowire.Number) bool { return f.number == n && f.kind == protowire.BytesType }

var errProtobuf = &Error{Malformed, "", "it is not a message of OTLP metrics, or truncated"}

// fields calls do for each field of a message.
func fields(b []byte, do func(f field) error) error {
	for len(b) > 0 {
		var f field
		var n int
		if f.number, f.kind, n = protowire.ConsumeTag(b); n < 0 {
			return errProtobuf
		}
		b = b[n:]
		switch f.kind {
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			f.value, n = protowire.ConsumeFixed64(b)
		default:
			n = protowire.ConsumeFieldValue(f.number, f.kind, b)
		}
		if n < 0 {
			return errProtobuf
		}
		b = b[n:]
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
}

// each calls do for each message in a repeated field.
func each(b []byte, n protowire.Number, do func(b []byte) error) error {
	return fields(b, func(f field) error {
		if f.is(n) {
			return do(f.bytes)
		}
		return nil
	})
}

// attribute is a key with its value. A value of another kind counts as none.
type attribute struct {
	key   string
	kind  protowire.Number // of the value: fieldString and so on; 0: none
	bytes []byte
	value uint64
}

func parseAttribute(b []byte) (a attribute, err error) {
	err = fields(b, func(f field) error {
		switch {
		case f.is(fieldKey):
			a.key = known(f.bytes)
		case f.is(fieldValue):
			return fields(f.bytes, func(f field) error {
				a.kind, a.bytes, a.value = f.number, f.bytes, f.value
				if (f.kind == protowire.BytesType) != (f.number == fieldString || f.number == fieldBytes) {
					a.kind = 0
				}
				return nil
			})
		}
		return nil
	})
	return a, err
}

// attributes are the known keys: with them, parsing a key allocates nothing.
var attributes = [...]string{
	attrNode, attrCluster, attrWorld, attrRank, attrState, attrGroup, attrMode, attrGPU, attrGPUs, attrEvent,
	attrSignal, attrData, attrOrder, attrThreshold, attrScore,
}

func known(key []byte) string {
	for _, k := range attributes {
		if k == string(key) {
			return k
		}
	}
	return ""
}

// text returns the value as a string.
func (a *attribute) text() (string, error) {
	if a.kind != fieldString {
		return "", wrong(Value, a.key, "is not a string")
	}
	if len(a.bytes) > maxName {
		return "", wrong(Limit, a.key, "has %d bytes; %d at most", len(a.bytes), maxName)
	}
	return string(a.bytes), nil
}

// integer returns the value as a whole number. Earlier agents also send it as a string.
func (a *attribute) integer() (int32, error) {
	v := int64(a.value)
	switch a.kind {
	case fieldInteger:
	case fieldFloat:
		f := math.Float64frombits(a.value)
		if v = int64(max(math.MinInt32-1, min(math.MaxInt32+1, f))); float64(v) != f {
			return 0, wrong(Value, a.key, "is %v, not a whole number of 32 bits", f)
		}
	case fieldString:
		var err error
		if v, err = strconv.ParseInt(string(a.bytes[:min(len(a.bytes), 20)]), 10, 32); err != nil {
			return 0, wrong(Value, a.key, "is not a whole number of 32 bits")
		}
	default:
		return 0, wrong(Value, a.key, "is not a number")
	}
	if v < math.MinInt32 || v > math.MaxInt32 {
		return 0, wrong(Value, a.key, "is %d; it must fit in 32 bits", v)
	}
	return int32(v), nil
}

// float returns the value as a number, NaN if it is not one or not finite.
func (a *attribute) float() float64 {
	switch v := math.Float64frombits(a.value); {
	case a.kind == fieldFloat && finite(v):
		return v
	case a.kind == fieldInteger:
		return float64(int64(a.value))
	}
	return math.NaN()
}
