package demo_test

import (
	"bytes"
	"regexp"
	"strconv"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/ingero-io/ingero/echo/demo"
	"github.com/ingero-io/ingero/echo/ingest"
)

// The recording is moved as a whole: it has the same length wherever it ends. Package mcptool tests what the tools find
// in it.
func TestRequests(t *testing.T) {
	const end, later = 1_780_000_000_000_000_000, 3_600_000_000_000
	a, err := demo.Requests(end)
	if err != nil {
		t.Fatal(err)
	}
	b, err := demo.Requests(end + later)
	if err != nil || len(a) != len(b) {
		t.Fatalf("%d and %d requests, %v", len(a), len(b), err)
	}
	paths := map[string]int{}
	first, last := int64(end), int64(0)
	for i := range a {
		paths[a[i].Path]++
		n := len(a[i].Body)
		if n == 0 || n > ingest.MaxRequest || a[i].Path != b[i].Path || bytes.Equal(a[i].Body, b[i].Body) {
			t.Errorf("request %d to %s has %d bytes, an hour later %d to %s", i, a[i].Path, n, len(b[i].Body), b[i].Path)
		}
		one, another := times(t, a[i]), times(t, b[i])
		if len(one) == 0 || len(one) != len(another) {
			t.Fatalf("request %d has %d times, an hour later %d", i, len(one), len(another))
		}
		for k := range one {
			if one[k]+later != another[k] && one[k]+another[k] != 0 {
				t.Fatalf("request %d: %d was not moved by an hour: %d", i, one[k], another[k])
			}
			if one[k] != 0 {
				first, last = min(first, one[k]), max(last, one[k])
			}
		}
	}
	if paths["/v1/traces"] < 50 || paths["/v1/metrics"] < 50 || paths["/v1/logs"] < 50 {
		t.Error(paths)
	}
	if last != end || last-first < 120e9 || last-first > 600e9 {
		t.Errorf("it is from %d to %d, and was to end at %d", first, last, end)
	}
}

var stamp = regexp.MustCompile(`"\w*[tT]imeUnixNano":"(\d+)"`)

// times returns all times of a request, those that are not set as 0.
func times(t *testing.T, r demo.Request) (ns []int64) {
	t.Helper()
	var req interface {
		UnmarshalProto([]byte) error
		MarshalJSON() ([]byte, error)
	}
	switch r.Path {
	case "/v1/traces":
		req = ptraceotlp.NewExportRequest()
	case "/v1/metrics":
		req = pmetricotlp.NewExportRequest()
	case "/v1/logs":
		req = plogotlp.NewExportRequest()
	}
	if err := req.UnmarshalProto(r.Body); err != nil {
		t.Fatal(err)
	}
	text, err := req.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range stamp.FindAllSubmatch(text, -1) {
		n, err := strconv.ParseInt(string(m[1]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ns = append(ns, n)
	}
	return ns
}
