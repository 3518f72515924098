package plain_test

import (
	"testing"
	"unicode/utf8"

	"github.com/ingero-io/ingero/lib/plain"
)

func TestOddCharactersAreShown(t *testing.T) {
	for in, want := range map[string]string{
		"python3 ünï 世界":         "python3 ünï 世界",
		"\x1b]0;title\a":         `\x1b]0;title\a`,
		"a\r\nb\tc":              `a\r\nb\tc`,
		"\x9b2J\xff":             `\x9b2J\xff`,
		"\u009b2J":               `\u009b2J`,
		"a\u202eb\u2066c\u200bd": `a\u202eb\u2066c\u200bd`,
		"\x7f\u3164":             `\x7f\u3164`,
	} {
		if got := plain.Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
	if got := plain.Marked("a\x1b\u202e\xffb"); got != "a???b" && got != "a??\uFFFDb" {
		t.Errorf("Marked: %q", got)
	}
	if got := plain.Coloured("\x1b[1mbold\x1b[0m \x1b[2J \x1b]0;x\a"); got != "\x1b[1mbold\x1b[0m "+`\x1b[2J \x1b]0;x\a` {
		t.Errorf("Coloured: %q", got)
	}
	if got := plain.Lines("a\x1b\nb"); got != `a\x1b`+"\nb" {
		t.Errorf("Lines: %q", got)
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\x1b[2J\xff\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		for _, out := range []string{plain.Line(s), plain.Marked(s)} {
			for _, r := range out {
				if plain.Odd(r) || !utf8.ValidString(out) {
					t.Fatalf("%q from %q", out, s)
				}
			}
		}
	})
}
