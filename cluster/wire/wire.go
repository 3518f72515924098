// Package wire is how agents and a fleet write what they tell each other: pushes as OTLP metrics,
// answers as headers, a suspect's question as a query, and verdicts as lines of JSON. The bytes are
// described in docs/fleet-protocol.md.
//
// The package is pure: it opens nothing, has no clock, and keeps nothing of what it is given. What
// comes in may be of anybody. Whatever is wrong is an *Error, which says what is wrong with which
// field; the meaning of values (which rank belongs to whom, what has been pushed before) is judged
// by the health package.
package wire

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// The paths of a fleet's HTTP server.
const (
	PushPath = "/v1/metrics"
	// PushMethod is the method of gRPC for pushes.
	PushMethod = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
	PollPath   = "/api/v1/threshold"
)

// What is accepted at most.
const (
	MaxRequest = 1 << 20 // bytes of a request with pushes
	MaxPushes  = 256     // in a request: a gateway may put together those of several nodes
	MaxQuery   = 2 << 10 // bytes of a poll
	MaxAnswer  = 8 << 10 // bytes of the answer to a poll
	MaxEvent   = 16 << 10
	maxName    = 256
	maxGauges  = 256 // ranks and groups of a push
	maxWorld   = 1 << 20
	// maxReply bounds the header, in bytes: health.Kept buckets with numbers of the greatest length.
	maxReply = 768
)

// Fault is what kind of thing is wrong with what came in.
type Fault uint8

// The faults.
const (
	// Malformed: truncated, too many bytes, or not in the form that is expected.
	Malformed Fault = iota
	// Version: of another version of the format. Nothing else is known of it.
	Version
	// Limit: longer or more than is accepted.
	Limit
	// Value: not a number, or none that the field may have.
	Value
	// Faults is how many there are.
	Faults
)

var faultNames = [...]string{"malformed", "version", "limit", "value"}

func (f Fault) String() string {
	if f < Faults {
		return faultNames[f]
	}
	return "unknown"
}

// Error is why something is not accepted.
type Error struct {
	Fault Fault
	Field string // "ranks[3].sigma"; empty: all of it
	Why   string // "is not finite"
}

func (e *Error) Error() string {
	if e.Field == "" {
		return e.Why
	}
	return e.Field + ": " + e.Why
}

func wrong(f Fault, field, format string, args ...any) error {
	return &Error{f, field, fmt.Sprintf(format, args...)}
}

// within puts the place of a field before it: "push" before "ranks[3].sigma".
func within(place string, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	field := place
	if e.Field != "" {
		field += "." + e.Field
	}
	return &Error{e.Fault, field, e.Why}
}

// Count adds the faults of an error of this package, also of several that are joined.
func Count(err error, faults *[Faults]uint64) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			Count(e, faults)
		}
		return
	}
	var e *Error
	if errors.As(err, &e) && e.Fault < Faults {
		faults[e.Fault]++
	}
}

// checkName checks a name that is shown to people and kept as a label.
func checkName(field, s string) error {
	switch {
	case len(s) > maxName:
		return wrong(Limit, field, "has %d bytes; %d at most", len(s), maxName)
	case !utf8.ValidString(s):
		return wrong(Value, field, "is not UTF-8")
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return wrong(Value, field, "has the character %U, which is not printable", r)
		}
	}
	return nil
}
