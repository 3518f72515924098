// Package wire defines the messages between agents and a fleet: pushes as OTLP metrics, answers as headers, a
// suspect's poll as a query, and verdicts as lines of JSON. docs/fleet-protocol.md describes the bytes.
//
// The package is pure: it has no I/O and no clock, and keeps no reference to its arguments. Input may come from
// anybody. Any fault in it is an *Error that names the field and what is wrong with it. The health package judges
// what values mean: whose rank it is, and what was pushed before.
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

// Limits of what is accepted.
const (
	MaxRequest = 1 << 20 // bytes of a request with pushes
	MaxPushes  = 256     // per request: a gateway may join those of several nodes
	MaxQuery   = 2 << 10 // bytes of a poll
	MaxAnswer  = 8 << 10 // bytes of the answer to a poll
	MaxEvent   = 16 << 10
	maxName    = 256
	maxGauges  = 256 // ranks and groups of a push
	maxWorld   = 1 << 20
	// maxReply bounds the header, in bytes: health.Kept buckets with the longest numbers.
	maxReply = 768
	// maxRefused bounds what an answer says of refused ranks, in bytes: of a header, too.
	maxRefused = 256
)

// Fault is the kind of a fault in what came in.
type Fault uint8

// The faults.
const (
	// Malformed: truncated, too long, or not of the expected form.
	Malformed Fault = iota
	// Version: another version of the format. Nothing else of it is parsed.
	Version
	// Limit: too long, or too many.
	Limit
	// Value: not a number, or not a value that the field may have.
	Value
	// Faults is the number of faults.
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
	Field string // such as "ranks[3].sigma"; empty: the whole message
	Why   string // such as "is not finite"
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

// within prefixes an error's field with its place: "push" before "ranks[3].sigma".
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

// Count adds the faults in an error of this package to faults. The error may join several.
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

// First is the first reason of an error of this package, and how many more it joins: a request may have hundreds.
func First(err error) string {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) == 0 {
		return err.Error()
	}
	list := joined.Unwrap()
	if len(list) == 1 {
		return First(list[0])
	}
	return fmt.Sprintf("%s (and %d more)", First(list[0]), len(list)-1)
}

// CheckCluster returns an error if a name cannot be that of a cluster. It may be empty.
func CheckCluster(name string) error { return checkName(attrCluster, name) }

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
