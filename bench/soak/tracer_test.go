package soak

import (
	"fmt"
	"testing"
)

func TestTailKeepsTheLastLine(t *testing.T) {
	for want, writes := range map[string][]string{
		"":       {},
		"one":    {"one\n"},
		"two":    {"one\ntw", "o\n"},
		"three":  {"one\n", "two\nthree\n\n"},
		"broken": {"one\nbro", "ken"},
	} {
		var x tail
		for _, w := range writes {
			if _, err := fmt.Fprint(&x, w); err != nil {
				t.Fatal(err)
			}
		}
		if got := x.String(); got != want {
			t.Errorf("%q: %q", writes, got)
		}
	}
}
