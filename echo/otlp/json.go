package otlp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

var errDeep = errors.New("they are nested too deeply")

// encoder writes attributes as JSON. The zero value is ready; a result is valid until the next use.
type encoder struct {
	buf   []byte
	pairs []pair // of all objects being written
}

type pair struct {
	name  string
	value pcommon.Value
}

// object returns attributes as an object with sorted names, so that their order does not matter. Numbers that JSON
// does not have become texts, bytes base64.
func (e *encoder) object(attrs pcommon.Map) ([]byte, error) {
	var err error
	e.buf, err = e.appendMap(e.buf[:0], attrs, maxDepth)
	return e.buf, err
}

// value returns a value as JSON.
func (e *encoder) value(v pcommon.Value) ([]byte, error) {
	var err error
	e.buf, err = e.append(e.buf[:0], v, maxDepth)
	return e.buf, err
}

func (e *encoder) appendMap(b []byte, m pcommon.Map, depth int) ([]byte, error) {
	if m.Len() == 0 {
		return append(b, "{}"...), nil
	}
	begin := len(e.pairs)
	for name, v := range m.All() {
		e.pairs = append(e.pairs, pair{name, v})
	}
	defer func() { e.pairs = e.pairs[:begin] }()
	slices.SortStableFunc(e.pairs[begin:], func(a, b pair) int { return strings.Compare(a.name, b.name) })
	end := len(e.pairs)
	for i := begin; i < end; i++ {
		b = append(b, comma(i == begin, '{'))
		b = appendText(b, e.pairs[i].name)
		b = append(b, ':')
		var err error
		if b, err = e.append(b, e.pairs[i].value, depth-1); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

func comma(first bool, begin byte) byte {
	if first {
		return begin
	}
	return ','
}

func (e *encoder) append(b []byte, v pcommon.Value, depth int) ([]byte, error) {
	if depth == 0 {
		return b, errDeep
	}
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return appendText(b, v.Str()), nil
	case pcommon.ValueTypeInt:
		return strconv.AppendInt(b, v.Int(), 10), nil
	case pcommon.ValueTypeDouble:
		return appendDouble(b, v.Double()), nil
	case pcommon.ValueTypeBool:
		return strconv.AppendBool(b, v.Bool()), nil
	case pcommon.ValueTypeBytes:
		b = append(b, '"')
		b = base64.StdEncoding.AppendEncode(b, v.Bytes().AsRaw())
		return append(b, '"'), nil
	case pcommon.ValueTypeMap:
		return e.appendMap(b, v.Map(), depth)
	case pcommon.ValueTypeSlice:
		s := v.Slice()
		if s.Len() == 0 {
			return append(b, "[]"...), nil
		}
		for i := range s.Len() {
			b = append(b, comma(i == 0, '['))
			var err error
			if b, err = e.append(b, s.At(i), depth-1); err != nil {
				return b, err
			}
		}
		return append(b, ']'), nil
	}
	return append(b, "null"...), nil
}

// appendDouble writes a number so that it is read back unchanged, with a point or an exponent, to distinguish it from
// a whole number.
func appendDouble(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	}
	begin := len(b)
	b = strconv.AppendFloat(b, v, 'g', -1, 64)
	if !slices.ContainsFunc(b[begin:], func(c byte) bool { return c == '.' || c == 'e' }) {
		b = append(b, ".0"...)
	}
	return b
}

// appendText writes a text. Most texts need no escapes.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			quoted, err := json.Marshal(s) // replaces what is not UTF-8
			if err != nil {
				return append(b, `""`...) // never happens: a string can always be written
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
