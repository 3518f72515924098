package report_test

import (
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/report"
)

func TestTextOfOthersCannotMoveTheCursor(t *testing.T) {
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

func TestLossesAreWordedWorstFirst(t *testing.T) {
	for want, losses := range map[string][]event.Loss{
		"nothing lost":                         nil,
		"nothing lost, estimated: 2 switch":    {{Kind: event.LostSwitch, Count: 2}, {Kind: event.LostCall}},
		"LOST: 1,000 call, estimated: 1 stack": {{Kind: event.LostStack, Count: 1}, {Kind: event.LostCall, Count: 1000}},
	} {
		if got := report.Losses(losses); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
