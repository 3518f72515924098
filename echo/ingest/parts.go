package ingest

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	// maxParts bounds the messages and texts of a request, without what is in an attribute: an empty one takes 2 bytes of
	// the request and some 150 of memory. As many of usual length would take more than MaxRequest.
	maxParts = 12 * maxPoints
	// maxDepth bounds how deep messages are nested. It allows for more than attributes may have: see package otlp.
	maxDepth = 64
	// oldField is a resource's list of scopes as senders of 2022 have it. It is parsed as newField is.
	oldField, newField = 1000, 2
	// long is the length in bytes from which on the parts of any text or message are counted, as it may be deeply nested.
	long = 4 << 10
)

// within says which fields of a message, by their number, are messages of which the parts are always counted.
type within [16]*within

var (
	points = &within{1: {}}
	// The kinds of metrics; the events and links of spans.
	metric = &within{5: points, 7: points, 9: points, 10: points, 11: points}
	span   = &within{11: {}, 13: {}}
	// 1 is the resource or scope.
	inMetrics = &within{1: {1: {}, 2: {1: {}, 2: metric}}}
	inLogs    = &within{1: {1: {}, 2: {1: {}, 2: {}}}}
	inTraces  = &within{1: {1: {}, 2: {1: {}, 2: span}}}
	// text may be a message, too.
	text = &within{}
)

// reasonable returns an error if a request would take very much more memory than its length suggests. That is much
// cheaper than to parse the request.
func reasonable(in *within, json bool, body []byte) error {
	if json {
		return few("objects, lists and elements of lists", objects(body), maxParts)
	}
	n := 0
	return countParts(body, in, 0, &n)
}

// objects returns how many messages the parser of OTLP may make of JSON. It goes on after an error: an element of a
// list that is no object is an empty message, in "[1,1", in "[}[}", and within a text, too. One after a comma is the
// last of its list if neither "," nor "[" follows its first byte. So most numbers and texts are not counted.
func objects(body []byte) int {
	n := 0
	for i, c := range body {
		switch c {
		case '{', '[':
			n++
		case ',':
			first, rest := token(body[i+1:])
			switch second, _ := token(rest); {
			case first == '{': // is counted when it comes
			case first == 'n', first == ',', second == ',', second == '[': // after n is "ull", or only a part of that
				n++
			}
		}
	}
	return n
}

// token returns the first byte that is not a space, and what follows; 0 if there is none.
func token(b []byte) (byte, []byte) {
	for i, c := range b {
		switch c {
		case ' ', '\t', '\n', '\r':
		default:
			return c, b[i+1:]
		}
	}
	return 0, nil
}

// few returns an error if a request has too many of something.
func few(what string, n, most int) error {
	if n > most {
		return fmt.Errorf("it has %d %s; %d are allowed: send fewer at a time", n, what, most)
	}
	return nil
}

// countParts adds up the parts of a message.
func countParts(b []byte, in *within, depth int, n *int) error {
	if depth > maxDepth {
		return fmt.Errorf("its values are nested more than %d deep", maxDepth)
	}
	for len(b) > 0 {
		field, kind, value, size := next(b)
		if size < 0 {
			return wrong(in, size)
		}
		b = b[size:]
		if kind != protowire.BytesType {
			continue
		}
		if *n++; *n > maxParts {
			return few("parts or more", *n, maxParts)
		}
		if field == oldField {
			field = newField
		}
		var inner *within
		if int(field) < len(in) {
			inner = in[field]
		}
		if inner == nil && len(value) >= long {
			inner = text
		}
		if inner == nil {
			continue
		}
		if err := countParts(value, inner, depth+1, n); err != nil {
			return err
		}
	}
	return nil
}

// next returns the first field of a message, its value if that is a message or text, and its size; below 0: an error.
// Most fields take the short ways.
func next(b []byte) (field protowire.Number, kind protowire.Type, value []byte, size int) {
	if b[0] >= 1<<3 && b[0] < 0x80 {
		field, kind, size = protowire.Number(b[0]>>3), protowire.Type(b[0]&7), 1
	} else if field, kind, size = protowire.ConsumeTag(b); size < 0 {
		return field, kind, nil, size
	}
	b = b[size:]
	n := 0
	switch {
	case kind == protowire.Fixed64Type && len(b) >= 8:
		n = 8
	case kind == protowire.BytesType && len(b) > 0 && b[0] < 0x80 && int(b[0]) < len(b):
		n = 1 + int(b[0])
		value = b[1:n]
	case kind == protowire.BytesType:
		value, n = protowire.ConsumeBytes(b)
	default:
		n = protowire.ConsumeFieldValue(field, kind, b)
	}
	if n < 0 {
		return field, kind, nil, n
	}
	return field, kind, value, size + n
}

// wrong returns why a message cannot be read; nil if it may be a text.
func wrong(in *within, size int) error {
	if in == text {
		return nil
	}
	return protowire.ParseError(size)
}
