package hostile

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// takeMemory is the argument of this program when it is one that takes 100 MiB, and ends.
const takeMemory = "take-100-MiB"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == takeMemory {
		os.Exit(take(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// take takes 100 MiB; with an argument, it gives them back and waits to be ended.
func take(args []string) int {
	b := bytes.Repeat([]byte("x"), 100<<20)
	n := bytes.Count(b, []byte("y"))
	if len(args) > 0 {
		b = nil
		debug.FreeOSMemory()
		fmt.Println("given back")
		time.Sleep(time.Minute)
	}
	_ = b
	return n
}

func TestAttacksAreRead(t *testing.T) {
	entries, err := lists.ReadDir("attacks")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, _ := strings.CutSuffix(e.Name(), ".txt")
		list, err := List(name)
		if err != nil {
			t.Error(err)
		}
		if len(list) < 10 {
			t.Errorf("%s has %d attacks", name, len(list))
		}
		seen := map[string]bool{}
		for _, a := range list {
			if seen[a.Name] || a.Name == "" {
				t.Errorf("%s: two attacks are %q", name, a.Name)
			}
			seen[a.Name] = true
		}
	}
}

func TestAnAttackIsATemplateWithFlags(t *testing.T) {
	a, err := parse(txtar.File{Name: "x [refused] [long]", Data: []byte("a<<repeat 3 \"b\">><<hex \"0a ff\">><<pb 2 \"cd\">><<varint 1 300>>\n")})
	if err != nil {
		t.Fatal(err)
	}
	if a.Name != "x" || !a.Refused || !a.Long || string(a.Input) != "abbb\n\xff\x12\x02cd\x08\xac\x02" {
		t.Errorf("%+v %q", a, a.Input)
	}
	for _, wrong := range []txtar.File{{Name: "x [unknown]"}, {Name: "x", Data: []byte("<<nothing>>")}, {Name: "x", Data: []byte(`<<hex "z">>`)}, {Name: "x", Data: []byte(`<<streams>>`)}} {
		if _, err := parse(wrong); err == nil {
			t.Errorf("%s %s is accepted", wrong.Name, wrong.Data)
		}
	}
	a, err = parse(txtar.File{Name: "x", Data: []byte(`<<streams 2 "h" true>>`)})
	const reset = "\x00\x00\x04\x03\x00"
	if want := "\x00\x00\x01\x01\x05\x00\x00\x00\x01h" + reset + "\x00\x00\x00\x01\x00\x00\x00\x08" +
		"\x00\x00\x01\x01\x05\x00\x00\x00\x03h" + reset + "\x00\x00\x00\x03\x00\x00\x00\x08"; err != nil || string(a.Input) != want {
		t.Errorf("%q %v", a.Input, err)
	}
	a, err = parse(txtar.File{Name: "x", Data: []byte(`<<gzip (repeat 1000 "x")>>`)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(a.Input))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); err != nil || len(b) != 1000 {
		t.Error(len(b), err)
	}
}

func TestRequest(t *testing.T) {
	r, err := parseRequest([]byte("POST /x\nClients: 3\nEndless: 10\nA: b\n\n{}"), "h:1")
	if err != nil {
		t.Fatal(err)
	}
	if want := "POST /x HTTP/1.1\r\nA: b\r\nHost: h:1\r\nContent-Length: 12\r\n\r\n{}"; string(r.bytes) != want || r.clients != 3 ||
		r.endless != 10 {
		t.Errorf("%q %+v", r.bytes, r)
	}
	r, err = parseRequest([]byte("GET /\nRaw: yes\nTo: grpc\n\nPRI\n\nx"), "h:1")
	if err != nil || string(r.bytes) != "PRI\n\nx" || !r.raw || r.to != "grpc" {
		t.Errorf("%q %+v %v", r.bytes, r, err)
	}
	r, err = parseRequest([]byte("GET / HTTP/1.0\nHost: evil\nTransfer-Encoding: chunked"), "h:1")
	if want := "GET / HTTP/1.0\r\nHost: evil\r\nTransfer-Encoding: chunked\r\n\r\n"; err != nil || string(r.bytes) != want {
		t.Errorf("%q %v", r.bytes, err)
	}
}

// victim is a program that does what a test says.
type victim struct {
	Outcome
	err     error
	sick    error
	peak    uint64
	printed string
}

func (v *victim) Attacks() ([]Attack, error) {
	return []Attack{{Name: "one", Refused: true}, {Name: "two", Long: true}}, nil
}
func (v *victim) Try(context.Context, Attack) (Outcome, error) { return v.Outcome, v.err }
func (v *victim) Healthy(context.Context) error                { return v.sick }
func (v *victim) Close() (uint64, string, error)               { return v.peak, v.printed, nil }

func TestWhatComesThroughIsFound(t *testing.T) {
	refused := Outcome{Refused: true}
	for name, c := range map[string]struct {
		victim
		want string // of the first failure; empty: it holds
	}{
		"it holds":                    {victim{Outcome: refused}, ""},
		"it answers what is refused":  {victim{}, "one: it was not refused"},
		"it gives away a secret":      {victim{Outcome: Outcome{Refused: true, Said: "x" + Secret}}, "one: it gave away"},
		"it panics":                   {victim{Outcome: Outcome{Refused: true, Said: "panic: x\n\ngoroutine 1 [running]"}}, "one: it crashed"},
		"it drives a terminal":        {victim{Outcome: Outcome{Refused: true, Said: "a\x1b[2J", Text: true}}, `one: a terminal gets '\x1b'`},
		"bytes are for programs":      {victim{Outcome: Outcome{Refused: true, Said: "a\x1b[2J"}}, ""},
		"it hangs":                    {victim{Outcome: refused, err: errors.New("no answer")}, "one: no answer"},
		"it answers nobody any more":  {victim{Outcome: refused, sick: errors.New("gone")}, "one: afterwards others are not answered: gone"},
		"it takes too much":           {victim{Outcome: refused, peak: 11 << 20}, "it took 11 MiB, more than 10"},
		"it prints a crash":           {victim{Outcome: refused, printed: "fatal error: x\n\ngoroutine 1"}, "it printed a crash"},
		"it prints what is not clean": {victim{Outcome: refused, printed: "a\u202eb"}, `it printed '\u202e'`},
	} {
		target := Target{MaxMiB: 10, Start: func(context.Context, *Programs) (Trier, error) { return &c.victim, nil }}
		r := Run(t.Context(), target, &Programs{Short: true})
		if r.Tried != 1 {
			t.Errorf("%s: %d tried", name, r.Tried)
		}
		if c.want == "" && !r.OK() || c.want != "" && (r.OK() || !strings.HasPrefix(r.Failures[0], c.want)) {
			t.Errorf("%s: %q, want %q", name, r.Failures, c.want)
		}
	}
}

// The peak is that of the program, also if it took the memory only for a moment.
func TestMemoryOfAProgramIsMeasured(t *testing.T) {
	t.Parallel()
	peak, said, err := oneShot(t.Context(), t.TempDir(), os.Args[0], takeMemory)
	if err != nil {
		t.Fatal(err, said)
	}
	if mib := peak >> 20; mib < 100 || mib > 200 {
		t.Errorf("%d MiB", mib)
	}
}

// Memory that was given back before an attack is not counted as the attack's.
func TestMemoryOfAnAttackIsMeasured(t *testing.T) {
	t.Parallel()
	p, err := start(t.Context(), t.TempDir(), os.Args[0], takeMemory, "and wait")
	if err != nil {
		t.Fatal(err)
	}
	if err := until(t.Context(), p, "the memory", func() bool { return strings.Contains(p.said.String(), "given back") }); err != nil {
		t.Fatal(err)
	}
	if first, second := p.memory.since()>>20, p.memory.since()>>20; first < 100 || second >= 100 {
		t.Errorf("first %d MiB, then %d", first, second)
	}
	if peak, _, err := p.close(); err != nil || peak>>20 < 100 {
		t.Error(peak, err)
	}
}
