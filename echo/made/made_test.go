package made_test

import (
	"bytes"
	"testing"

	"github.com/ingero-io/ingero/echo/ingest"
	"github.com/ingero-io/ingero/echo/made"
)

// The requests are always the same, and Echo accepts each. Package mcptool tests what the tools find in them.
func TestRequests(t *testing.T) {
	const end = 1_780_000_000_000_000_000
	a, err := made.Requests(end)
	if err != nil {
		t.Fatal(err)
	}
	b, err := made.Requests(end)
	if err != nil || len(a) != len(b) {
		t.Fatalf("%d and %d requests, %v", len(a), len(b), err)
	}
	paths := map[string]int{}
	for i := range a {
		paths[a[i].Path]++
		if !bytes.Equal(a[i].Body, b[i].Body) || len(a[i].Body) == 0 || len(a[i].Body) > ingest.MaxRequest {
			t.Errorf("request %d has %d bytes, and %d the second time", i, len(a[i].Body), len(b[i].Body))
		}
	}
	if paths["/v1/traces"] < 2 || paths["/v1/metrics"] != 1 || paths["/v1/logs"] != 1 {
		t.Error(paths)
	}
}
