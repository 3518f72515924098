package agent

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestOnlyReadOnlyMappingsAreReleased(t *testing.T) {
	for line, want := range map[string]bool{
		"00400000-00a00000 r-xp 00000000 fd:00 17 /opt/ingero\n":    true,
		"00a00000-00f00000 r--p 00600000 fd:00 17 /opt/ingero\n":    true,
		"00f00000-00f10000 rw-p 00b00000 fd:00 17 /opt/ingero\n":    false, // data
		"00f00000-00f10000 r--s 00b00000 fd:00 17 /opt/ingero\n":    false,
		"00400000-00a00000 r-xp 00000000 fd:00 18 /lib/libc.so.6\n": false,
		"7ffc0000-7ffd0000 rw-p 00000000 00:00 0 [stack]\n":         false,
		"00f10000-00f20000 rw-p 00000000 00:00 0\n":                 false,
		"nonsense":                   false,
		"0-x r-xp 0 0 0 /opt/ingero": false,
	} {
		from, to, ok := textOf(line, "/opt/ingero")
		if ok != want || ok && (from == 0 || to <= from) {
			t.Errorf("%q: %x-%x %v, want %v", line, from, to, ok, want)
		}
	}
}

// The memory is given back, and the program goes on as before.
func TestCodeIsReleased(t *testing.T) {
	file := func() (kb int) {
		b, err := os.ReadFile("/proc/self/smaps")
		if err != nil {
			t.Fatal(err)
		}
		self, err := os.Readlink("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		mine := false
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, "-") && !strings.HasPrefix(line, "Vm") && len(strings.Fields(line)) >= 5 {
				_, _, mine = textOf(line, self)
			}
			if v, ok := strings.CutPrefix(line, "Rss:"); ok && mine {
				n, err := strconv.Atoi(strings.Fields(v)[0])
				if err != nil {
					t.Fatal(err)
				}
				kb += n
			}
		}
		return kb
	}
	before := file()
	if err := dropText(); err != nil {
		t.Fatal(err)
	}
	if after := file(); before == 0 || after >= before {
		t.Errorf("%d KiB of the program are in memory, %d before", after, before)
	}
}
