package probe_test

import (
	"testing"

	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/probe"
)

// One look at a machine on which nothing is in flight: what the tracer pays once a
// second. docs/in-flight.md has what it printed.
func BenchmarkInFlight(b *testing.B) {
	kerneltest.Require(b)
	tr, err := probe.Open(probe.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer tr.Close()
	var r probe.Records
	for b.Loop() {
		if _, err := tr.InFlight(nil, nil, &r); err != nil {
			b.Fatal(err)
		}
	}
}
