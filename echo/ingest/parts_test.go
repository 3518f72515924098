package ingest_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ingero-io/ingero/echo/access"
	"github.com/ingero-io/ingero/echo/ingest"
)

// in returns a message in fields of others, the innermost first.
func in(b []byte, fields ...protowire.Number) []byte {
	for _, field := range fields {
		b = protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), b)
	}
	return b
}

// empties returns a request of about the greatest length, most of which is empty messages.
func empties(field protowire.Number, fields ...protowire.Number) []byte {
	return in(bytes.Repeat(in(nil, field), ingest.MaxRequest/2-50), fields...)
}

// nested returns a line of a log whose body is lists within lists.
func nested(levels int) []byte {
	b := bytes.Repeat([]byte{' '}, 4<<10)
	b = in(b, 1)
	for range levels {
		b = in(b, 1, 5)
	}
	return in(b, 5, 2, 2, 1)
}

// Requests that would take very much memory are refused before they are parsed.
func TestRequestsThatAreNotReasonable(t *testing.T) {
	const many, deep = "parts or more; 600000 are allowed: send fewer at a time", "its values are nested more than 64 deep"
	for name, c := range map[string]struct {
		path string
		body []byte
		want string
	}{
		"resources":               {"metrics", empties(1), many},
		"attributes of resources": {"traces", empties(1, 1, 1), many},
		"entities of a resource":  {"logs", empties(3, 1, 1), many},
		"scopes":                  {"logs", empties(2, 1), many},
		"metrics":                 {"metrics", empties(2, 2, 1), many},
		"points":                  {"metrics", empties(1, 5, 2, 2, 1), many},
		"points of summaries":     {"metrics", empties(1, 11, 2, 2, 1), many},
		"exemplars":               {"metrics", empties(5, 1, 5, 2, 2, 1), many},
		"quantiles":               {"metrics", empties(6, 1, 11, 2, 2, 1), many},
		"lines":                   {"logs", empties(2, 2, 1), many},
		"attributes of lines":     {"logs", empties(6, 2, 2, 1), many},
		"spans":                   {"traces", empties(2, 2, 1), many},
		"events":                  {"traces", empties(11, 2, 2, 1), many},
		"attributes of events":    {"traces", empties(3, 11, 2, 2, 1), many},
		"values of an attribute":  {"logs", empties(1, 5, 2, 6, 2, 2, 1), many},
		"some values each":        {"metrics", bytes.Repeat(in(bytes.Repeat(in(nil, 5), 30), 1, 5, 2, 2, 1), 50_000), many},
		"lists within lists":      {"logs", nested(200), deep},
		"spans of old scopes":     {"traces", bytes.Repeat(in(bytes.Repeat(in(nil, 2), 30), 1000, 1), 50_000), many},
		"lines of old scopes":     {"logs", bytes.Repeat(in(bytes.Repeat(in(nil, 2), 30), 1000, 1), 50_000), many},
		"metrics of old scopes":   {"metrics", bytes.Repeat(in(bytes.Repeat(in(nil, 2), 30), 1000, 1), 50_000), many},
	} {
		if len(c.body) > ingest.MaxRequest {
			t.Fatalf("%s: the request has %d bytes", name, len(c.body))
		}
		s := server(t, &queue{}, "")
		got, answer := post(t, s, "/v1/"+c.path, c.body, "Content-Type", "application/x-protobuf")
		if got.StatusCode != http.StatusBadRequest || !strings.Contains(string(answer), c.want) || s.Counts().Malformed != 1 {
			t.Errorf("%s: %d %q", name, got.StatusCode, answer)
		}
	}
}

// What is no message counts as one in JSON, too, where its parser would make one of it.
func TestRequestsInJSONThatAreNotReasonable(t *testing.T) {
	for name, c := range map[string]struct{ begin, repeat, end string }{
		"objects":                  {`{"spans":[`, `{},`, `{}]}`},
		"ends":                     {`{"spans":[`, `},`, ``},
		"numbers":                  {`{"spans":[`, `1,`, `1]}`},
		"numbers with spaces":      {`{"spans":[`, "1 ,\n", `1]}`},
		"nothing":                  {`{"spans":[`, `null,`, `null]}`},
		"parts of null":            {`{"spans":[`, `nx,`, ``},
		"lists that do not end":    {`{"spans":`, `[}`, ``},
		"lists within lists":       {`{"spans":`, `[[`, ``},
		"lists after an error":     {`{"spans":[1`, `[xy`, ``},
		"a text":                   {`{"spans":["`, `[xy`, `"]}`},
		"texts":                    {`{"spans":[`, `",`, ``},
		"commas":                   {`{"spans":[,xy`, `,,xy`, ``},
		"a list instead of a name": {`{"spans":[{"name":["`, `[xy`, `"]}]}`},
	} {
		body := `{"resourceSpans":[{"scopeSpans":[` + c.begin + strings.Repeat(c.repeat, 700_000) + c.end + `]}]}`
		s := server(t, &queue{}, "")
		got, answer := post(t, s, "/v1/traces", []byte(body), "Content-Type", "application/json")
		if got.StatusCode != http.StatusBadRequest || s.Counts().Malformed != 1 ||
			!strings.Contains(string(answer), "objects, lists and elements of lists; 600000 are allowed: send fewer at a time") {
			t.Errorf("%s: %d %q", name, got.StatusCode, answer)
		}
	}
}

// Whatever is repeated in a list, no more messages are made of it than were counted, but for the last one of each list.
func TestAllMessagesInJSONAreCounted(t *testing.T) {
	const lists = 3 // resources, scopes, spans
	var try func(repeat string)
	try = func(repeat string) {
		if len(repeat) == 3 {
			return
		}
		for _, c := range "{}[],\"nu1\\x :" {
			repeat := repeat + string(c)
			for _, begin := range []string{"", "[", "[1"} { // 1 is an error
				body := []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":` + begin + strings.Repeat(repeat, 100))
				m := ptraceotlp.NewExportRequest()
				_ = m.UnmarshalJSON(body) // is no JSON
				made := m.Traces().ResourceSpans().Len() + m.Traces().SpanCount()
				for _, r := range m.Traces().ResourceSpans().All() {
					made += r.ScopeSpans().Len()
				}
				if counted := ingest.Objects(body); made > counted+lists {
					t.Errorf("%s: %d messages; %d were counted", body[:60], made, counted)
				}
			}
			try(repeat)
		}
	}
	try("")
}

// A request in JSON may be as long as any other, with many buckets, attributes, and lists within texts.
func TestRequestsInJSONThatAreReasonable(t *testing.T) {
	m := pmetric.NewMetrics()
	all := m.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	one := all.AppendEmpty()
	one.SetName("exponential")
	exponential := one.SetEmptyExponentialHistogram()
	exponential.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	for i := range 4500 {
		p := exponential.DataPoints().AppendEmpty()
		p.SetTimestamp(pcommon.Timestamp(when + i))
		p.Attributes().PutStr("a", "x, [1, 2, 3]")
		p.Positive().BucketCounts().FromRaw(make([]uint64, 160)) // as SDKs have them at most
		p.Positive().BucketCounts().SetAt(7, 1)
		p.SetCount(1)
	}
	one = all.AppendEmpty()
	one.SetName("explicit")
	explicit := one.SetEmptyHistogram()
	explicit.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	for i := range 1500 {
		p := explicit.DataPoints().AppendEmpty()
		p.SetTimestamp(pcommon.Timestamp(when + i))
		p.Attributes().PutStr("a", "b")
		p.ExplicitBounds().FromRaw([]float64{0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000})
		p.BucketCounts().FromRaw(make([]uint64, 16))
	}
	body, err := pmetricotlp.NewExportRequestFromMetrics(m).MarshalJSON()
	if err != nil || len(body) > ingest.MaxRequest || len(body) < ingest.MaxRequest*9/10 {
		t.Fatal(len(body), err)
	}
	q := &queue{}
	got, answer := post(t, server(t, q, ""), "/v1/metrics", body, "Content-Type", "application/json")
	if rows := q.take(); got.StatusCode != http.StatusOK || len(rows) != 6000 {
		t.Errorf("%d rows; %d %q", len(rows), got.StatusCode, answer)
	}
}

// As many points as are allowed may come, each with an attribute and in a resource of its own; and values that are
// nested as deeply as they are kept. More points are refused, with what to do.
func TestRequestsThatAreReasonable(t *testing.T) {
	many := func(points int) []byte {
		m := pmetric.NewMetrics()
		for range points {
			rm := m.ResourceMetrics().AppendEmpty()
			rm.Resource().Attributes().PutStr("a", "b")
			metric := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
			metric.SetName("m")
			p := metric.SetEmptyGauge().DataPoints().AppendEmpty()
			p.SetTimestamp(when)
			p.SetIntValue(1)
			p.Attributes().PutStr("a", "b")
		}
		b, err := pmetricotlp.NewExportRequestFromMetrics(m).MarshalProto()
		if err != nil || len(b) > ingest.MaxRequest {
			t.Fatal(len(b), err)
		}
		return b
	}
	nestedMaps := oneLog()
	value := nestedMaps.Logs().ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes().PutEmpty("a")
	for range 14 {
		value = value.SetEmptyMap().PutEmpty("a")
	}
	value.SetStr(strings.Repeat("x", 10<<10))
	deep, err := nestedMaps.MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	text := oneLog()
	text.Logs().ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Body().SetStr(strings.Repeat("\u00fcr\n", 4000))
	long, err := text.MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path string
		body []byte
		rows int
		want string
	}{
		"all points that are allowed": {"metrics", many(50_000), 50_000, ""},
		"one more":                    {"metrics", many(50_001), 0, "it has 50001 points; 50000 are allowed: send fewer at a time"},
		"nested maps":                 {"logs", deep, 1, ""},
		"a long text":                 {"logs", long, 1, ""},
	} {
		q := &queue{}
		_, answer := post(t, server(t, q, ""), "/v1/"+c.path, c.body, "Content-Type", "application/x-protobuf")
		rows := len(q.take())
		if rows != c.rows || !strings.Contains(string(answer), c.want) || c.rows > 0 && len(answer) > 2 {
			t.Errorf("%s: %d rows; %q", name, rows, answer)
		}
	}
}

// Two of the longest requests are converted at a time, and the others wait, also while the rows of the first ones find
// no room in the queue, but not while they are written.
func TestFewLongRequestsAreConvertedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		came, released := make(chan struct{}, 10), make(chan struct{})
		q := &queue{room: make(chan struct{}), wait: make(chan struct{})}
		s := ingest.New(ingest.Options{Queue: q, Tokens: &access.Tokens{}, Now: func() time.Time {
			came <- struct{}{}
			<-released
			return time.Unix(0, when)
		}})
		m := metrics(1)
		m.Metrics().ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).
			SetDescription(strings.Repeat("x", ingest.MaxRequest-1000))
		long, err := m.MarshalProto()
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan int, 3)
		for range 3 {
			go func() {
				got, _ := post(t, s, "/v1/metrics", long, "Content-Type", "application/x-protobuf")
				done <- got.StatusCode
			}()
		}
		for _, step := range []struct {
			now    string
			let    func()
			begins int // requests whose conversion has begun
		}{
			{"two are converted", func() {}, 2},
			{"their rows wait for room", func() { close(released) }, 2},
			{"one of them has room", func() { q.room <- struct{}{} }, 3},
		} {
			step.let()
			synctest.Wait()
			if len(came) != step.begins {
				t.Errorf("%s: %d were begun; want %d", step.now, len(came), step.begins)
			}
		}
		if len(done) != 0 {
			t.Errorf("%d are answered before they are stored", len(done))
		}
		close(q.room)
		close(q.wait)
		for range 3 {
			if code := <-done; code != http.StatusOK {
				t.Errorf("status %d", code)
			}
		}
	})
}

// BenchmarkParts measures a usual request: 2000 points of a metric in a request.
func BenchmarkParts(b *testing.B) {
	m := metrics(2000)
	for i, p := range m.Metrics().ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Gauge().DataPoints().All() {
		p.SetStartTimestamp(pcommon.Timestamp(when - i))
		p.SetDoubleValue(float64(i))
		p.Attributes().PutStr("ingero.node.rank", fmt.Sprint(i%8))
		p.Attributes().PutStr("ingero.node.id", "node")
	}
	body, err := m.MarshalProto()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("parts", func(b *testing.B) {
		for b.Loop() {
			if err := ingest.Reasonable(body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parsed", func(b *testing.B) {
		for b.Loop() {
			if err := pmetricotlp.NewExportRequest().UnmarshalProto(body); err != nil {
				b.Fatal(err)
			}
		}
	})
}
