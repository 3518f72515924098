package mcptool

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/ingero-io/ingero/serve/mcpshape"
)

func TestNames(t *testing.T) {
	for in, want := range map[string]data{
		"trainer": "trainer", "kworker/0:1-events": "kworker/0:1-events", "tmux: server": "«tmux: server»",
		"a»b": "a›b", "«a b": "«‹a b»", "a\nb": "«a b»", "a\x1b[2Jb": "a?[2Jb", "\u202eabc": "?abc", "a\xffb": "a\uFFFDb",
		"":         "",
		"a\ufe0fb": "a?b", "a\U000E0141\u3164\u034fb": "a???b",
		strings.Repeat("x", 130): data(strings.Repeat("x", 120) + "…(+10)"),
	} {
		if got := name(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestFramesHaveReadableNames(t *testing.T) {
	for in, want := range map[string]data{
		"_ZN2at6native5copy_ERNS_6TensorERKS1_b [libtorch_cpu.so]": "at::native::copy_ [libtorch_cpu.so]",
		"_ZN3c104cuda18device_synchronizeEv":                       "c10::cuda::device_synchronize",
		"main [victim]":                                            "main [victim]", "_Zebra": "_Zebra",
		"train.py:12 in step": "train.py:12 in step",
	} {
		if got := frame(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// FuzzNames: whatever a process calls itself, the name is short, valid, visible,
// and in quotation marks of its own if it has spaces.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"", "a b", "«»", "\u2028x y", "\U000E0041 \u00ad", strings.Repeat("» «", 99), "\xff \xfe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := string(name(s))
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > maxName+40 {
			t.Errorf("%q", got)
		}
		inner, open := strings.CutPrefix(got, "«")
		inner, closed := strings.CutSuffix(inner, "»")
		if open != closed || open != strings.ContainsFunc(got, unicode.IsSpace) || strings.ContainsAny(inner, "«»") {
			t.Errorf("%q becomes %q", s, got)
		}
		for _, r := range got {
			if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
				unicode.Other_Default_Ignorable_Code_Point) {
				t.Errorf("%q shows %U", got, r)
			}
		}
		if b, err := json.Marshal(got); err != nil || !json.Valid(b) {
			t.Errorf("%q: %v", got, err)
		}
	})
}

// FuzzCursors: whatever a client sends is refused or a place in a list, and a cursor
// that was given out leads to its place.
func FuzzCursors(f *testing.F) {
	for _, s := range []string{"", "1.0", "-1.ffffffff", "99999999999999999999.0", "0x1.2", "1.2.3", "%d.%x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := paging{Cursor: s}
		at, err := p.offset("key")
		if err == nil && (at < 0 || at > longest) || err != nil && at != 0 {
			t.Errorf("%q is offset %d, %v", s, at, err)
		}
		if again, err := (paging{Cursor: mcpshape.Cursor(at, "key")}).offset("key"); err != nil || again != at {
			t.Errorf("offset %d comes back as %d, %v", at, again, err)
		}
	})
}
