package probe

import (
	"debug/elf"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
)

func TestFunctionsThatOnlyJump(t *testing.T) {
	const at = 0x1000
	for name, tt := range map[string]struct {
		machine      elf.Machine
		code         string
		target, slot uint64
	}{
		"libcudart 13: frame, jmp":        {elf.EM_X86_64, "55 4889e5 5d e976fd0500 90", at + 10 + 0x5fd76, 0},
		"endbr64; jmp":                    {elf.EM_X86_64, "f30f1efa e910000000", at + 9 + 16, 0},
		"nop; short jmp backwards":        {elf.EM_X86_64, "90 ebf0", at + 3 - 16, 0},
		"jmp through a slot":              {elf.EM_X86_64, "f30f1efa ff2500010000", 0, at + 10 + 0x100},
		"endbr64; bnd jmp through a slot": {elf.EM_X86_64, "f30f1efa f2ff2500010000", 0, at + 11 + 0x100},
		"it moves an argument first":      {elf.EM_X86_64, "4889f7 e910000000", 0, 0},
		"it keeps a frame":                {elf.EM_X86_64, "55 4889e5 e910000000", 0, 0},
		"a call":                          {elf.EM_X86_64, "e810000000 c3", 0, 0},
		"a jump that depends":             {elf.EM_X86_64, "740c e910000000", 0, 0},
		"a jump by a register":            {elf.EM_X86_64, "ffe0", 0, 0},
		"through a table":                 {elf.EM_X86_64, "ff24c500000000", 0, 0},
		"cut off":                         {elf.EM_X86_64, "55 4889e5", 0, 0},
		"nothing":                         {elf.EM_X86_64, "", 0, 0},
		"arm64: b":                        {elf.EM_AARCH64, "04000014", at + 16, 0},
		"arm64: bti; b backwards":         {elf.EM_AARCH64, "5f2403d5 feffff17", at + 4 - 8, 0},
		"arm64: bl":                       {elf.EM_AARCH64, "04000094", 0, 0},
		"arm64: mov first":                {elf.EM_AARCH64, "e00301aa 04000014", 0, 0},
		"another machine":                 {elf.EM_RISCV, "e910000000", 0, 0},
	} {
		code, err := hex.DecodeString(strings.ReplaceAll(tt.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		target, slot := jump(tt.machine, code, at)
		if tt.slot == 0 && strings.Contains(name, "slot") || target != tt.target || slot != tt.slot {
			t.Errorf("%s: goes to %#x, slot %#x; want %#x, %#x", name, target, slot, tt.target, tt.slot)
		}
	}
}

func TestSlotsOfTheProcedureLinkageTable(t *testing.T) {
	for name, tt := range map[string]struct {
		machine elf.Machine
		code    string
		want    uint64
	}{
		"jmp":               {elf.EM_X86_64, "ff2500010000", 0x1106},
		"endbr64; bnd; jmp": {elf.EM_X86_64, "f30f1efa f2ff2500010000", 0x110b},
		"no stub":           {elf.EM_X86_64, "55 4889e5", 0},
		"empty":             {elf.EM_X86_64, "", 0},
		"arm64":             {elf.EM_AARCH64, "f00000b0 110640f9 10220091 20021fd6", 0x1e000 + 8},
		"arm64: bti":        {elf.EM_AARCH64, "5f2403d5 f00000b0 110640f9", 0x1e000 + 8},
		"arm64: cut off":    {elf.EM_AARCH64, "f00000b0", 0},
	} {
		code, err := hex.DecodeString(strings.ReplaceAll(tt.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := pltSlot(tt.machine, code, 0x1000); got != tt.want {
			t.Errorf("%s: %#x, want %#x", name, got, tt.want)
		}
	}
}

// thunkSource has a function of two names, one that jumps to it, one that jumps to it
// through the procedure linkage table, and one that does something before.
const thunkSource = `
int run(int a) { return a * 3; }
extern int again(int) __attribute__((alias("run")));
static int inner(int) __attribute__((alias("run")));
int direct(int a) { return inner(a); }
int through(int a) { return run(a); }
int other(int a) { return run(a + 1); }
`

func TestOneCallHasOneProbe(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "t.c")
	if err := os.WriteFile(source, []byte(thunkSource), 0o600); err != nil {
		t.Fatal(err)
	}
	lib := &Library{Name: "t", File: regexp.MustCompile("^t"), Ops: []*event.Info{
		{Op: 1, Name: "direct"},
		{Op: 1, Name: "through"},
		{Op: 2, Name: "run"},
		{Op: 3, Name: "again"},
		{Op: 4, Name: "other"},
	}}
	compilers := map[string][]string{
		"gcc":                   {"-fcf-protection=full", "-fcf-protection=none"},
		"aarch64-linux-gnu-gcc": {"-mbranch-protection=none", "-mbranch-protection=standard"},
	}
	tried := 0
	for cc, flags := range compilers {
		if _, err := exec.LookPath(cc); err != nil {
			continue
		}
		for _, flag := range flags {
			file := filepath.Join(dir, cc+flag+".so")
			cmd := exec.Command(cc, "-O2", "-fno-inline", "-fPIC", "-fno-ipa-icf", "-shared", flag, "-o", file, source)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Logf("%s %s: not on this machine: %s", cc, flag, out)
				continue
			}
			tried++
			found, err := lib.Find(file)
			if err != nil {
				t.Fatal(err)
			}
			var probed []string
			for _, target := range found.Targets {
				probed = append(probed, target.Symbol)
			}
			slices.Sort(found.Same)
			if !slices.Equal(probed, []string{"run", "other"}) ||
				!slices.Equal(found.Same, []string{"again", "direct", "through"}) {
				t.Errorf("%s %s: probes on %v; %v are counted by them", cc, flag, probed, found.Same)
			}
		}
	}
	if tried == 0 {
		t.Error("no compiler")
	}
}

func TestSeldomCalledFunctionsAreLeftOutWhereProbesAreExpensive(t *testing.T) {
	f := Found{Targets: []Target{{Symbol: "often"}, {Symbol: "seldom", Seldom: true}}}
	if targets, out := f.For(BackendSession); len(targets) != 2 || len(out) != 0 {
		t.Errorf("%v, without %v", targets, out)
	}
	if targets, out := f.For(BackendPerf); len(targets) != 1 || targets[0].Symbol != "often" ||
		!slices.Equal(out, []string{"seldom"}) {
		t.Errorf("%v, without %v", targets, out)
	}
}
