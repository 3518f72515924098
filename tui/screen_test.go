package tui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/event"
)

var update = flag.Bool("update", false, "write the screens into testdata")

func TestMain(m *testing.M) {
	// Times of day are those of the machine.
	if err := os.Setenv("TZ", "UTC"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// press types keys: "enter", "j", …
func press(m *Model, keys ...string) {
	for _, k := range keys {
		m.Update(keyOf(k))
	}
}

// TestScreens holds every tab against what it is to look like.
func TestScreens(t *testing.T) {
	for _, size := range []struct{ width, height int }{{80, 24}, {40, 10}, {132, 30}} {
		for name, keys := range map[string][]string{
			"1-calls": {"1"}, "2-ledger": {"2"}, "3-findings": {"3"}, "4-memory": {"4"}, "5-nodes": {"5"},
			"call": {"1", "j", "enter"}, "thread": {"2", "enter"}, "finding": {"3", "G", "k", "k", "enter"},
			"memory": {"4", "enter"}, "help": {"?"},
		} {
			t.Run(fmt.Sprintf("%s-%dx%d", name, size.width, size.height), func(t *testing.T) {
				m := shown(recordedOptions(), size.width, size.height, busy("engine"))
				press(m, keys...)
				var got strings.Builder
				for line := range strings.SplitSeq(m.Screen(), "\n") {
					got.WriteString(strings.TrimRight(line, " ") + "\n")
				}
				compare(t, got.String())
			})
		}
	}
}

// compare holds a screen against the file of the test's name.
func compare(t *testing.T, got string) {
	t.Helper()
	path := filepath.Join("testdata", filepath.Base(t.Name())+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("run go test ./tui -update if it is meant to be so:\n%s", d)
	}
}

// hostile are names that processes can give themselves.
var hostile = []string{
	"engine", "模型训练模型训练模型", "\x1b[2J\x1b]0;x\a", "\u202egnp.exe", "a\nb\tc\rd", "\x9b31mred", "👩‍👩‍👧‍👦e\u0301\u0301\u0301",
	"",
	strings.Repeat("long-", 60),
}

var styleCode = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestNothingBreaksTheScreen tries every tab at many sizes, with names that try to.
func TestNothingBreaksTheScreen(t *testing.T) {
	for _, comm := range hostile {
		s := busy(comm)
		for _, size := range [][2]int{{80, 24}, {40, 10}, {1, 1}, {2, 40}, {20, 5}, {79, 6}, {300, 80}, {41, 14}} {
			for _, colour := range []bool{false, true} {
				o := recordedOptions()
				o.Colour, o.Node, o.Path = colour, comm, "/"+comm
				for i := range tabs {
					m := shown(o, size[0], size[1], s)
					press(m, fmt.Sprint(i+1))
					whole(t, m, colour)
					press(m, "G", "enter")
					whole(t, m, colour)
					press(m, "esc", "/", "zz")
					whole(t, m, colour)
				}
				m := shown(o, size[0], size[1], s)
				press(m, "?")
				whole(t, m, colour)
			}
		}
	}
}

// whole fails if the screen is larger than it is, or has in it what moves the cursor.
func whole(t *testing.T, m *Model, colour bool) {
	t.Helper()
	screen := m.Screen()
	lines := strings.Split(screen, "\n")
	if len(lines) > m.height {
		t.Fatalf("%d lines of %d:\n%s", len(lines), m.height, screen)
	}
	for _, line := range lines {
		if w := ansi.StringWidth(line); w > m.width {
			t.Fatalf("%d columns of %d: %q", w, m.width, line)
		}
		bare := styleCode.ReplaceAllString(line, "")
		if !colour {
			bare = line
		}
		if strings.ContainsFunc(bare, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
			t.Fatalf("it has control characters: %q", line)
		}
	}
}

// What was dropped is on every screen, in colours or without.
func TestLossesAreAlwaysVisible(t *testing.T) {
	for _, size := range [][2]int{{40, 10}, {80, 24}, {200, 60}, {40, 2}, {40, 1}} {
		for i := range tabs {
			m := shown(recordedOptions(), size[0], size[1], busy("engine"))
			press(m, fmt.Sprint(i+1), "p") // paused, too
			if s := m.Screen(); !strings.Contains(s, "DROPPED: 1,234 call") {
				t.Errorf("tab %d, %d columns, %d lines:\n%s", i+1, size[0], size[1], s)
			}
		}
	}
}

// Colours say nothing that letters do not: the bars of a thread without them.
func TestBarsAreLegibleWithoutColours(t *testing.T) {
	m := shown(recordedOptions(), 100, 24, busy("engine"))
	press(m, "2", "w", "w") // the whole run
	s := m.Screen()
	for _, part := range []string{
		"CCCC", "QQ", "LL", "GG", "DD", "SS", ".", "C on CPU", "Q run queue", "L lock", "D disk",
		"G GPU driver",
	} {
		if !strings.Contains(s, part) {
			t.Errorf("no %q:\n%s", part, s)
		}
	}
}

// The parts of a bar add up to its width, whatever they are.
func TestBarHasTheGivenWidth(t *testing.T) {
	for n := range uint64(200) {
		list := []segment{{unaccounted, n * n % 7}, {unaccounted, n % 3}, {unaccounted, n * 31 % 101}, {unaccounted, n % 2}}
		sum := 0
		for _, k := range shares(list, 37) {
			sum += k
		}
		empty := list[0].ns+list[1].ns+list[2].ns+list[3].ns == 0
		if want := 37; sum != want && !empty {
			t.Fatalf("%v: %d columns", list, sum)
		}
	}
}

func TestEveryClassHasAStyle(t *testing.T) {
	letters := map[byte]bool{unaccounted.letter: true}
	classes := map[event.Class]bool{}
	for _, l := range looks {
		if letters[l.letter] || classes[l.class] {
			t.Errorf("%+v twice", l)
		}
		letters[l.letter], classes[l.class] = true, true
	}
	if len(classes) != int(event.NumClasses)+1 {
		t.Errorf("%d of %d classes", len(classes), event.NumClasses+1)
	}
}
