package wire

import "google.golang.org/protobuf/encoding/protowire"

// Content types of OTLP over HTTP.
const (
	TypeProtobuf = "application/x-protobuf"
	TypeJSON     = "application/json"
)

// Fields of a server's answers to a push.
const (
	fieldStatusMessage  = 2 // of google.rpc.Status
	fieldPartialSuccess = 1 // of the response
	fieldRejected       = 1 // of a partial success
	fieldRejectedWhy    = 2
)

// maxWhy bounds a server's text, in bytes.
const maxWhy = 1 << 10

// AppendResponse appends an OTLP ExportMetricsServiceResponse: empty if all pushes were accepted, otherwise with how
// many were not, and why.
func AppendResponse(b []byte, rejected int, why string) []byte {
	if rejected == 0 && why == "" {
		return b
	}
	m := message(b)
	p := m.open(fieldPartialSuccess)
	if rejected > 0 {
		m = protowire.AppendVarint(protowire.AppendTag(m, fieldRejected, protowire.VarintType), uint64(rejected))
	}
	m.text(fieldRejectedWhy, printable(why, maxWhy))
	m.close(p)
	return m
}

// ParseResponse parses what AppendResponse wrote.
func ParseResponse(b []byte) (rejected int, why string, err error) {
	err = each(b, fieldPartialSuccess, func(b []byte) error {
		return fields(b, func(f field) error {
			switch {
			case f.number == fieldRejected && f.kind == protowire.VarintType:
				rejected = int(min(f.value, MaxRequest))
			case f.is(fieldRejectedWhy):
				why = printable(string(f.bytes), maxWhy)
			}
			return nil
		})
	})
	return rejected, why, err
}

// AppendStatus appends a google.rpc.Status, which is the body of an OTLP error.
func AppendStatus(b []byte, why string) []byte {
	m := message(b)
	m.text(fieldStatusMessage, printable(why, maxWhy))
	return m
}

// ParseStatus parses what AppendStatus wrote. It returns "" for anything else.
func ParseStatus(b []byte) (why string) {
	err := each(b, fieldStatusMessage, func(b []byte) error {
		why = printable(string(b), maxWhy)
		return nil
	})
	if err != nil {
		return ""
	}
	return why
}
