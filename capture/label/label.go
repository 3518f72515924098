// Package label is the wire format in which programs say what they work on: one JSON object a line,
// {"labels": {"step": 120, "epoch": 3}}. It reads, checks and writes single lines. It has no clock and
// no I/O; package socket receives the lines, and docs/labels.md describes the format for users.
package label

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Version is the version of the format; a line may state it as "v".
const Version = 1

// The limits of a line, in bytes unless said otherwise.
const (
	MaxLine   = 16 << 10 // without the newline
	MaxKey    = 64
	MaxValue  = 256
	MaxLabels = 32 // labels of a line
)

// Why a line is refused.
var (
	ErrLong    = errors.New("the line is longer than 16 KiB")
	ErrSyntax  = errors.New("the line is not a JSON object with the fields of docs/labels.md")
	ErrVersion = errors.New("the line is of another version; this is version 1")
	ErrNone    = errors.New("the line has no labels")
	ErrMany    = errors.New("the line has more than 32 labels")
	ErrKey     = errors.New("a key must have 1 to 64 characters of A-Z, a-z, 0-9, _, . and -")
	ErrValue   = errors.New("a value must be text of at most 256 bytes without control characters, a number or a boolean")
	ErrTime    = errors.New("a time must be a positive integer of Unix nanoseconds")
	ErrSpan    = errors.New("a span needs span_start and a later span_end")
)

// Pair is a label. An empty value unsets the key.
type Pair struct{ Key, Value string }

// Line is what a line says.
type Line struct {
	Pairs     []Pair // in order of their keys, at least one
	At        uint64 // Unix ns from which the labels hold; 0: from the line's arrival on
	PID       uint32 // of the process they are about; 0: the sender's own
	StartTime uint64 // of that process, clock ticks since boot (field 22 of /proc/PID/stat); 0: not stated
	From, To  uint64 // Unix ns of the span they are about; 0: they hold until they are set again
	Dropped   uint64 // lines before this one that the program could not send
}

// IsSpan reports whether the labels are about a span, and not about the time from now on.
func (l *Line) IsSpan() bool { return l.To != 0 }

// wire is a line as JSON has it. Unknown fields are ignored, so that the format can grow.
type wire struct {
	Labels    map[string]json.RawMessage `json:"labels"`
	TS        *uint64                    `json:"ts,omitempty"`
	PID       uint32                     `json:"pid,omitempty"`
	StartTime uint64                     `json:"start_time,omitempty"`
	SpanStart *uint64                    `json:"span_start,omitempty"`
	SpanEnd   *uint64                    `json:"span_end,omitempty"`
	Dropped   uint64                     `json:"dropped,omitempty"`
	V         *uint64                    `json:"v,omitempty"`
}

// Parse reads a line, without its newline. The error is one of those above.
func Parse(line []byte) (Line, error) {
	if len(line) > MaxLine {
		return Line{}, ErrLong
	}
	if l, ok := usual(line); ok {
		return l, nil
	}
	return anyLine(line)
}

// anyLine reads any line.
func anyLine(line []byte) (Line, error) {
	var w wire
	if err := json.Unmarshal(line, &w); err != nil {
		return Line{}, ErrSyntax
	}
	if w.V != nil && *w.V != Version {
		return Line{}, ErrVersion
	}
	l := Line{PID: w.PID, StartTime: w.StartTime, Dropped: w.Dropped}
	if w.PID > math.MaxInt32 || w.StartTime > math.MaxInt64 {
		return Line{}, ErrSyntax
	}
	if err := l.times(&w); err != nil {
		return Line{}, err
	}
	switch {
	case len(w.Labels) == 0:
		return Line{}, ErrNone
	case len(w.Labels) > MaxLabels:
		return Line{}, ErrMany
	}
	for key, raw := range w.Labels {
		if !IsKey(key) {
			return Line{}, ErrKey
		}
		value, ok := valueOf(raw)
		if !ok {
			return Line{}, ErrValue
		}
		l.Pairs = append(l.Pairs, Pair{key, value})
	}
	slices.SortFunc(l.Pairs, func(a, b Pair) int { return strings.Compare(a.Key, b.Key) })
	return l, nil
}

// times takes over the times of a line.
func (l *Line) times(w *wire) error {
	for _, t := range []*uint64{w.TS, w.SpanStart, w.SpanEnd} {
		if t != nil && (*t == 0 || *t > math.MaxInt64) {
			return ErrTime
		}
	}
	if w.TS != nil {
		l.At = *w.TS
	}
	if w.SpanStart == nil && w.SpanEnd == nil {
		return nil
	}
	if w.SpanStart == nil || w.SpanEnd == nil || *w.SpanEnd <= *w.SpanStart {
		return ErrSpan
	}
	l.From, l.To = *w.SpanStart, *w.SpanEnd
	return nil
}

// IsKey reports whether a text can be a key.
func IsKey(s string) bool {
	if s == "" || len(s) > MaxKey {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return true
}

// IsValue reports whether a text can be a value.
func IsValue(s string) bool {
	return len(s) <= MaxValue && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 })
}

// valueOf is a value as text: a text itself, a number or truth value as it is written, null as no value.
func valueOf(raw json.RawMessage) (string, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "", false
	}
	switch raw[0] {
	case '{', '[':
		return "", false
	case 'n':
		return "", true
	case '"':
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return "", false
		}
		return s, IsValue(s)
	}
	return string(raw), len(raw) <= MaxValue
}

// Append appends the line with its newline. Values that are whole numbers are written as such.
func (l *Line) Append(b []byte) ([]byte, error) {
	w := wire{
		Labels: make(map[string]json.RawMessage, len(l.Pairs)), PID: l.PID, StartTime: l.StartTime, Dropped: l.Dropped,
	}
	for _, p := range l.Pairs {
		raw := json.RawMessage(p.Value)
		if n, err := strconv.ParseInt(p.Value, 10, 64); err != nil || strconv.FormatInt(n, 10) != p.Value {
			if raw, err = json.Marshal(p.Value); err != nil {
				return b, err
			}
		}
		w.Labels[p.Key] = raw
	}
	if l.At != 0 {
		w.TS = &l.At
	}
	if l.IsSpan() {
		w.SpanStart, w.SpanEnd = &l.From, &l.To
	}
	out, err := json.Marshal(&w)
	if err != nil {
		return b, err
	}
	return append(append(b, out...), '\n'), nil
}
