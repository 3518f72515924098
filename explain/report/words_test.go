package report_test

import (
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

func TestControlCharactersOfNamesAreEscaped(t *testing.T) {
	for in, want := range map[string]string{
		"engine":           "engine",
		"模型 (训练)":          "模型 (训练)",
		"a\x1b[2Jb\n":      `a\x1b[2Jb\n`,
		"\u202egnp.exe":    `\u202egnp.exe`, // would be shown from right to left
		"\x9b31m":          `\x9b31m`,       // an escape sequence of one byte
		"wide\ufe0f":       `wide\ufe0f`,
		"back\\slash 'it'": "back\\slash 'it'",
		"":                 "",
	} {
		if got := report.OneLine(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestWorstLossesComeFirst(t *testing.T) {
	for want, losses := range map[string][]event.Loss{
		"nothing dropped":                         nil,
		"nothing dropped, estimated: 2 switch":    {{Kind: event.LostSwitch, Count: 2}, {Kind: event.LostCall}},
		"DROPPED: 58 ms late":                     {{Kind: event.LostLate, Count: 58}},
		"DROPPED: 1,000 call, estimated: 1 stack": {{Kind: event.LostStack, Count: 1}, {Kind: event.LostCall, Count: 1000}},
	} {
		if got := report.Losses(losses); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestNumbersHaveThreeDigitsAndSeparators(t *testing.T) {
	for v, want := range map[float64]string{
		1360: "1,360", 999.6: "1,000", 999.4: "999", 23.6: "23.6", 4.256: "4.26", 0.05: "0.05", 0: "0", 231478: "231,478",
		2: "2",
	} {
		if got := report.Number(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	for ns, want := range map[uint64]string{
		1_234_000_000_000: "1,234 s", 23_600_000: "23.6 ms", 999_400: "999 us",
		1_630: "1.63 us",
	} {
		if got := report.Duration(ns); got != want {
			t.Errorf("%d ns: %q, want %q", ns, got, want)
		}
	}
}
