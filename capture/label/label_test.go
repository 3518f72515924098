package label_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/capture/label"
)

func TestLinesAreRead(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]label.Line{
		`{"labels":{"step":120,"epoch":"3"}}`: {Pairs: []label.Pair{{"epoch", "3"}, {"step", "120"}}},
		` {"labels":{"a":null,"b":"","c":true,"d":-1.5e3},"v":1,"more":[{}]} `: {
			Pairs: []label.Pair{{"a", ""}, {"b", ""}, {"c", "true"}, {"d", "-1.5e3"}},
		},
		`{"labels":{"phase":"é"},"ts":5,"pid":7,"start_time":9,"dropped":2}`: {
			Pairs: []label.Pair{{"phase", "é"}}, At: 5, PID: 7, StartTime: 9, Dropped: 2,
		},
		`{"labels":{"k":1},"span_start":5,"span_end":6}`: {Pairs: []label.Pair{{"k", "1"}}, From: 5, To: 6},
		`{"labels":{"k":1,"k":2}}`:                       {Pairs: []label.Pair{{"k", "2"}}},
	} {
		got, err := label.Parse([]byte(line))
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", line, err, d)
		}
	}
}

// labels is a line with n labels.
func labels(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	return `{"labels":{` + strings.TrimPrefix(b.String(), ",") + `}}`
}

func TestOtherLinesAreRefused(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("x", n) }
	for line, want := range map[string]error{
		"":                                     label.ErrSyntax,
		"step=1":                               label.ErrSyntax,
		`{"labels":{"a":1}} {}`:                label.ErrSyntax,
		`{"labels":[1]}`:                       label.ErrSyntax,
		`{"labels":{"a":1},"ts":-1}`:           label.ErrSyntax,
		`{"labels":{"a":1},"ts":1.5}`:          label.ErrSyntax,
		`{"labels":{"a":1},"pid":-3}`:          label.ErrSyntax,
		`{"labels":{"a":1},"pid":1e12}`:        label.ErrSyntax,
		`{"labels":{"a":1},"ts":0}`:            label.ErrTime,
		`{"labels":{"a":1},"v":2}`:             label.ErrVersion,
		`{}`:                                   label.ErrNone,
		`null`:                                 label.ErrNone,
		`{"labels":{}}`:                        label.ErrNone,
		`{"labels":null}`:                      label.ErrNone,
		labels(33):                             label.ErrMany,
		labels(1200):                           label.ErrMany,
		labels(10_000):                         label.ErrLong,
		`{"labels":{"":1}}`:                    label.ErrKey,
		`{"labels":{"a b":1}}`:                 label.ErrKey,
		`{"labels":{"` + long(65) + `":1}}`:    label.ErrKey,
		`{"labels":{"a":"` + long(257) + `"}}`: label.ErrValue,
		`{"labels":{"a":{}}}`:                  label.ErrValue,
		`{"labels":{"a":[1]}}`:                 label.ErrValue,
		`{"labels":{"a":"\u0000"}}`:            label.ErrValue,
		`{"labels":{"a":"\u001b[31m"}}`:        label.ErrValue,
		`{"labels":{"a":1},"span_start":5}`:    label.ErrSpan,
		`{"labels":{"a":1},"span_end":5}`:      label.ErrSpan,
		`{"labels":{"a":1},"span_start":5,"span_end":5}`: label.ErrSpan,
		`{"labels":{"a":"` + long(64<<10) + `"}}`:        label.ErrLong,
		strings.Repeat("[", label.MaxLine):               label.ErrSyntax,
	} {
		if _, err := label.Parse([]byte(line)); !errors.Is(err, want) {
			t.Errorf("%.60s: %v, want %v", line, err, want)
		}
	}
	if _, err := label.Parse([]byte(labels(label.MaxLabels))); err != nil {
		t.Errorf("%d labels: %v", label.MaxLabels, err)
	}
}

// TestUsualLinesAreReadAsAnyOther: there is a way of their own for them.
func TestUsualLinesAreReadAsAnyOther(t *testing.T) {
	t.Parallel()
	for line, usual := range map[string]bool{
		`{"labels":{"epoch":3,"step":120},"ts":1764090000123456789}`: true,
		`{"labels":{"phase":"train é","step":1}}`:                    true,
		`{"labels":{"phase":""},"ts":9223372036854775807}`:           true,
		`{"labels":{"step":120,"epoch":3}}`:                          true,
		`{"labels":{"a":1,"a":1}}`:                                   false,
		`{"labels":{"a":0}}`:                                         false,
		`{"labels":{"a":-1}}`:                                        false,
		`{"labels":{"a":1.5}}`:                                       false,
		`{"labels":{"a":99999999999999999999}}`:                      false,
		`{"labels":{"a":true}}`:                                      false,
		`{"labels":{"a":"\u00e9"}}`:                                  false,
		`{"labels":{"a":1},"v":1}`:                                   false,
		`{"labels":{"a":1},"ts":5,"dropped":1}`:                      false,
		` {"labels":{"a":1}}`:                                        false,
		`{"labels":{"a":1,}}`:                                        false,
		`{"labels":{"a":1}`:                                          false,
		`{"labels":{"a":01}}`:                                        false,
		`{"labels":{"a":1},"ts":9223372036854775808}`:                false,
		`{"labels":{"a":1},"ts":0}`:                                  false,
		`{"labels":{"a":1},"ts":}`:                                   false,
		`{"labels":{}}`:                                              false,
		`{"labels":{"` + strings.Repeat("k", 65) + `":1}}`:           false,
		`{"labels":{"a":"` + strings.Repeat("v", 257) + `"}}`:        false,
		`{"labels":{"a":"` + "\xff" + `"}}`:                          false,
	} {
		got, ok := label.Usual([]byte(line))
		if ok != usual {
			t.Errorf("%s: usual %v, want %v", line, ok, usual)
		}
		want, err := label.AnyLine([]byte(line))
		if ok && (err != nil || !cmp.Equal(got, want)) {
			t.Errorf("%s: %+v, and read the other way %+v, %v", line, got, want, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"labels":{"step":120}}`, `{"labels":{"a":"\ud800"},"ts":1}`, `{"labels":{"a":1e999},"span_start":1,"span_end":2}`,
		`{"labels":{"a":null},"v":1,"pid":1}`, "{", `{"labels":{"a":1,"b":"x"},"ts":12}`, `{"labels":{"a":"` + "\xff" + `"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := label.Parse(b)
		if err != nil {
			return
		}
		if len(l.Pairs) == 0 || len(l.Pairs) > label.MaxLabels || l.To < l.From {
			t.Fatalf("%q: %+v", b, l)
		}
		for _, p := range l.Pairs {
			if !label.IsKey(p.Key) || !label.IsValue(p.Value) {
				t.Fatalf("%q: label %q", b, p)
			}
		}
		if slow, err := label.AnyLine(b); err != nil || !cmp.Equal(l, slow) {
			t.Fatalf("%q: %+v, and read the other way %+v, %v", b, l, slow, err)
		}
		out, err := l.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := label.Parse(out[:len(out)-1])
		if d := cmp.Diff(l, again); err != nil || d != "" {
			t.Fatalf("%q, written %q: %v\n%s", b, out, err, d)
		}
	})
}
