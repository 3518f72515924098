// Package row is what Echo keeps: a row for each point of a metric, line of a log, and span. It has no clock and no
// I/O, and knows neither how rows come nor where they are kept.
package row

// Kind is what a row was.
type Kind uint8

// The kinds. Numbers are not kept anywhere; names are.
const (
	Gauge Kind = iota + 1
	Sum
	Histogram
	ExponentialHistogram
	Summary
	Log
	Span
)

var kinds = [...]string{
	Gauge: "gauge", Sum: "sum", Histogram: "histogram", ExponentialHistogram: "exponential_histogram",
	Summary: "summary", Log: "log", Span: "span",
}

// String is the kind's name, as it is kept.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return ""
}

// None is the rank of a row that is of no rank.
const None = -1

// Row is a point, a line or a span. Empty texts, and times and durations of 0, are not known, and kept as NULL; only
// the cluster and the node are kept as empty texts.
type Row struct {
	// Series is shared by all points of one: it must not be changed. It is never nil. A line or a span has one of its
	// own.
	*Series
	// Key tells rows of one time apart: see Key.
	Key uint64

	// Timestamp is when it was, by the clock of the sender; Received when it came, by Echo's. Start is from when
	// on a sum or histogram counts. All are nanoseconds since the Unix epoch.
	Timestamp, Received, Start int64

	// Double and Int are a number's value, of which at most one is there.
	Double            float64
	Int               int64
	HasDouble, HasInt bool
	// Distribution is that of a histogram or summary; nil: it is none.
	Distribution *Distribution
	// Record is what a line or a span says; nil: it is a point.
	Record *Record
}

// Record is what only lines of logs and spans have.
type Record struct {
	// Event is a log's event name, or a span's name.
	Event string
	// Severity is a log's, or ERROR of a span that failed. SeverityNumber is OpenTelemetry's, 1 to 24.
	Severity       string
	SeverityNumber int32
	// Body is the text of a log, or the message of a span's status.
	Body string
	// Trace, Span and Parent are in hexadecimal.
	Trace, Span, Parent string
	// Duration is nanoseconds of a span.
	Duration int64
}

// second is how many nanoseconds of time share a set of keys.
const second = 1_000_000_000

// Second is the second since the Unix epoch of the row's own time.
func (r *Row) Second() int64 { return SecondOf(r.Timestamp) }

// SecondOf is the second of a time in nanoseconds, both since the Unix epoch.
func SecondOf(timestamp int64) int64 {
	s := timestamp / second
	if timestamp%second < 0 {
		s--
	}
	return s
}

// SecondBegins is the first nanosecond of a second.
func SecondBegins(s int64) int64 { return s * second }
