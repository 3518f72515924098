package label

import (
	"bytes"
	"math"
	"slices"
	"strings"
)

// usual reads the lines that most programs send, {"labels":{"step":120,"phase":"train"},"ts":17…}, without
// blanks, escapes and other fields, many times as fast as any line is read. It is false for every other
// line, and for each with a mistake.
func usual(line []byte) (l Line, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"labels":{`))
	if !ok {
		return l, false
	}
	for more := true; more; {
		var p Pair
		if p, rest, ok = pair(rest); !ok || len(l.Pairs) == MaxLabels {
			return l, false
		}
		if slices.ContainsFunc(l.Pairs, func(q Pair) bool { return q.Key == p.Key }) {
			return l, false
		}
		l.Pairs = append(l.Pairs, p)
		if rest, more = bytes.CutPrefix(rest, []byte{','}); !more && !bytes.HasPrefix(rest, []byte{'}'}) {
			return l, false
		}
	}
	if len(l.Pairs) > 1 {
		slices.SortFunc(l.Pairs, func(a, b Pair) int { return strings.Compare(a.Key, b.Key) })
	}
	switch rest = rest[1:]; {
	case bytes.Equal(rest, []byte{'}'}):
		return l, true
	case bytes.HasPrefix(rest, []byte(`,"ts":`)) && rest[len(rest)-1] == '}':
		l.At, ok = integer(rest[len(`,"ts":`) : len(rest)-1])
		return l, ok
	}
	return l, false
}

// pair reads a key and its value.
func pair(b []byte) (p Pair, rest []byte, ok bool) {
	key, rest, ok := quoted(b)
	if !ok || !IsKey(key) || len(rest) < 2 || rest[0] != ':' {
		return p, nil, false
	}
	p.Key, rest = key, rest[1:]
	if rest[0] == '"' {
		p.Value, rest, ok = quoted(rest)
		return p, rest, ok && IsValue(p.Value)
	}
	n := bytes.IndexAny(rest, ",}")
	if n < 0 {
		return p, nil, false
	}
	_, ok = integer(rest[:n])
	p.Value = string(rest[:n])
	return p, rest[n:], ok
}

// quoted reads a text in quotes without escapes.
func quoted(b []byte) (s string, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return "", nil, false
	}
	n := bytes.IndexByte(b[1:], '"')
	if n < 0 || bytes.IndexByte(b[1:1+n], '\\') >= 0 {
		return "", nil, false
	}
	return string(b[1 : 1+n]), b[2+n:], true
}

// integer reads a positive integer that begins with no 0.
func integer(b []byte) (n uint64, ok bool) {
	if len(b) == 0 || len(b) > 18 && (len(b) > 19 || string(b) > "9223372036854775807") || b[0] == '0' {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + uint64(c-'0')
	}
	return n, n <= math.MaxInt64
}
