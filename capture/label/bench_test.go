package label_test

import (
	"testing"

	"github.com/ingero-io/ingero/capture/label"
)

func BenchmarkParse(b *testing.B) {
	line := []byte(`{"labels":{"step":120,"epoch":3},"ts":1764090000123456789}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := label.Parse(line); err != nil {
			b.Fatal(err)
		}
	}
}
