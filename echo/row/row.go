// Package row defines what Echo keeps: a row for each point of a metric, log record, and span. It has no clock and no
// I/O, and knows neither where rows come from nor where they are kept.
package row

// Kind is the kind of a row.
type Kind uint8

// The kinds. Their numbers are not stored; their names are.
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

// String returns the kind's name, as it is stored.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return ""
}

// None is the rank of a row without one.
const None = -1

// Row is a point, a log record or a span. Empty texts, and times and durations of 0, are not known and stored as
// NULL; only cluster and node are stored as empty texts.
type Row struct {
	// Series is shared by all points of a series: it must not be changed. It is never nil. A log record or span has its
	// own.
	*Series
	// Key distinguishes rows of one time: see Key.
	Key uint64

	// Timestamp is the row's own time, by the sender's clock, Received its time of arrival, by Echo's. Start is when a
	// sum or histogram began to count. All are nanoseconds since the Unix epoch.
	Timestamp, Received, Start int64

	// Double and Int are a number's value; at most one is set.
	Double            float64
	Int               int64
	HasDouble, HasInt bool
	// Distribution is the value of a histogram or summary; nil for others.
	Distribution *Distribution
	// Record is the content of a log record or span; nil for a point.
	Record *Record
}

// Record has what only log records and spans have.
type Record struct {
	// Event is a log record's event name, or a span's name.
	Event string
	// Severity is a log record's, or ERROR for a failed span. SeverityNumber is OpenTelemetry's, 1 to 24.
	Severity       string
	SeverityNumber int32
	// Body is the text of a log record, or the message of a span's status.
	Body string
	// Trace, Span and Parent are in hexadecimal.
	Trace, Span, Parent string
	// Duration is a span's, in nanoseconds.
	Duration int64
}

// second is the time that shares a set of keys, in nanoseconds.
const second = 1_000_000_000

// Second returns the second of the row's own time, since the Unix epoch.
func (r *Row) Second() int64 { return SecondOf(r.Timestamp) }

// SecondOf returns the second of a time in nanoseconds, both since the Unix epoch.
func SecondOf(timestamp int64) int64 {
	s := timestamp / second
	if timestamp%second < 0 {
		s--
	}
	return s
}

// SecondBegins returns the first nanosecond of a second.
func SecondBegins(s int64) int64 { return s * second }
