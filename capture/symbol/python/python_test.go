package python

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/event"
)

// format is the line table of a minor version.
func format(minor int) bpf.WirePyTable {
	if f, ok := old[minor]; ok {
		return f.table
	}
	return locations
}

// TestLinesMatchTheInterpreter reads tables that each version made
// (testdata/fixture.py) and compares every instruction with its own answer.
func TestLinesMatchTheInterpreter(t *testing.T) {
	for minor := Oldest; minor <= Newest; minor++ {
		version := Version(3<<24 | uint32(minor)<<16).String()
		b, err := os.ReadFile("testdata/lines-" + version + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var codes []struct {
			Name  string
			First int32
			Table string
			Lines [][3]*int // from, to, line or null
		}
		if err := json.Unmarshal(b, &codes); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, k := range codes {
			table, err := hex.DecodeString(k.Table)
			if err != nil {
				t.Fatal(err)
			}
			c := Code{name: k.Name, first: k.First, format: format(minor), table: table}
			for _, r := range k.Lines {
				want := 0
				if r[2] != nil {
					want = *r[2]
				}
				for at := *r[0]; at < *r[1]; at += 2 {
					n++
					if got := c.Frame(int32(at)).Line; int(got) != want {
						t.Fatalf("Python %s: %s: instruction %d is on line %d, want %d", version, k.Name, at, got, want)
					}
				}
			}
			if got := c.Frame(-2).Line; int32(got) != k.First {
				t.Errorf("Python %s: %s: before its first instruction it is on line %d, want %d", version, k.Name, got, k.First)
			}
		}
		if n < 300 {
			t.Errorf("Python %s: only %d instructions compared", version, n)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte{0x80, 1, 0xf0, 2, 3}, 4)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff}, 1000)
	f.Fuzz(func(t *testing.T, table []byte, instr int) {
		for _, format := range []bpf.WirePyTable{lnotab, lines, locations, 0} {
			c := Code{first: 1, format: format, table: table}
			c.Frame(int32(instr))
		}
	})
}

func TestOffsetsInTheInterpreterAreRead(t *testing.T) {
	want := map[string]bpf.WirePyProc{
		"3.13": {
			InterpHead: 0x1000 + 632, Flags: 8, Table: 3, InterpNext: 7264, InterpThreads: 7344, TsNext: 8, TsThreadId: 152,
			TsFrame:    72,
			FrameBytes: 72, FrameInstr: 56, FramePrev: 8, FrameOwner: 70, CodeAt: 64, CodeBytes: 80,
			CodeFirstline: 4, CodeFile: 48, CodeName: 64, CodeTable: 72, CodeInstrs: 200, StrAscii: 40, StrCompact: 56,
		},
		"3.14": {
			InterpHead: 0x1000 + 808, Flags: 8, Table: 3, InterpNext: 7272, InterpThreads: 7344, TsNext: 8, TsThreadId: 152,
			TsFrame:    72,
			FrameBytes: 80, FrameInstr: 56, FramePrev: 8, FrameOwner: 74, CodeAt: 64, CodeBytes: 80,
			CodeFirstline: 4, CodeFile: 48, CodeName: 64, CodeTable: 72, CodeInstrs: 208, StrAscii: 40, StrCompact: 56,
		},
	}
	for version, w := range want {
		v, f, err := parseOffsets(runtime(t, version))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(v.String(), version+".") {
			t.Errorf("version %s, want %s", v, version)
		}
		got, err := f.layout(0x1000)
		if diff := cmp.Diff(w, got, cmp.AllowUnexported(w)); err != nil || diff != "" {
			t.Errorf("Python %s: %v\n%s", version, err, diff)
		}
	}
}

// runtime is the start of a version's _PyRuntime.
func runtime(t *testing.T, version string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/runtime-" + version + ".bin")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestUnsupportedInterpretersSayWhy(t *testing.T) {
	freeThreaded := runtime(t, "3.14")
	freeThreaded[16] = 1
	moved := runtime(t, "3.13")
	binary.LittleEndian.PutUint64(moved[24+8*63:], 24) // bytes.ob_sval is word 62
	for name, tt := range map[string]struct {
		runtime []byte
		want    string
	}{
		"of a later version":   {runtime(t, "3.15"), "the layout of Python 3.15.2 is not known; known are 3.8 to 3.14"},
		"free-threaded":        {freeThreaded, "Python 3.14.10 is a free-threaded build"},
		"without offsets":      {make([]byte, 1024), "its _PyRuntime has no debug offsets, as it should from 3.13 on"},
		"cut short":            {runtime(t, "3.14")[:300], "its _PyRuntime is too short"},
		"with other str":       {moved, "Python 3.13.0 has"},
		"with nothing to read": {nil, "its _PyRuntime has no debug offsets, as it should from 3.13 on"},
	} {
		if _, _, err := parseOffsets(tt.runtime); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

func TestEveryOldVersionFitsTheWalker(t *testing.T) {
	for minor := Oldest; minor <= 12; minor++ {
		f, ok := old[minor]
		if !ok {
			t.Fatalf("no layout of 3.%d", minor)
		}
		if _, err := f.layout(0); err != nil {
			t.Errorf("3.%d: %v", minor, err)
		}
	}
	f := old[12]
	f.lineTable = 300
	if _, err := f.layout(0); err == nil {
		t.Error("a code object that is too large fits")
	}
}

func TestVersionsRead(t *testing.T) {
	for v, want := range map[Version]string{
		0x030b07f0: "3.11.7", 0x030e00a5: "3.14.0a5", 0x030d00b1: "3.13.0b1",
		0x030c00c2: "3.12.0rc2", 0x03080000: "3.8",
	} {
		if v.String() != want {
			t.Errorf("%#x is %s, want %s", uint32(v), v, want)
		}
	}
	if Version(0x02071800).Minor() != 0 {
		t.Error("Python 2.7 is taken for a Python 3")
	}
}

func TestFileNames(t *testing.T) {
	for name, want := range map[string]Version{
		"libpython3.10.so.1.0":          0x030a0000,
		"libpython3.13t.so.1.0":         0x030d0000,
		"libpython3.12-d0da41ae.so.1.0": 0x030c0000,
		"python3.9":                     0x03090000,
		"python3.11d":                   0x030b0000,
		"python2.7":                     0x02070000,
		"python3":                       0,
		"python":                        0,
		"libpython3.so":                 0,
	} {
		if !IsInterpreter(name) || versionOf(name) != want {
			t.Errorf("%s: %v, version %s, want %s", name, IsInterpreter(name), versionOf(name), want)
		}
	}
	for _, name := range []string{
		"pythonize.so", "libboost_python310.so.1.74.0", "python3.10-config.txt", "ipython3",
		"libtorch_python.so",
	} {
		if IsInterpreter(name) {
			t.Errorf("%s is taken for an interpreter", name)
		}
	}
}

func TestTextIsDecoded(t *testing.T) {
	str := func(kind uint32, length int) bpf.WirePyStr {
		return bpf.WirePyStr{State: kind<<2 | 1<<5, Length: uint32(length)}
	}
	for _, tt := range []struct {
		bytes string
		str   bpf.WirePyStr
		want  string
	}{
		{"train.py", str(1, 8), "train.py"},
		{"gr\xf6\xdfe", str(1, 5), "größe"},
		{"\x27\x59\x0f\x5c", str(2, 2), "大小"},
		{"\x00\xf6\x01\x00x\x00\x00\x00", str(4, 2), "😀x"},
		{"\x80\xdcx\x00", str(2, 2), "\uFFFDx"},
		{"in.py", str(1, 600), "…in.py"},
		{"", str(1, 0), ""},
		{"abc", bpf.WirePyStr{Length: 3}, ""},
	} {
		b := make([]byte, len(tt.bytes))
		copy(b, tt.bytes)
		if got := pyText(b, tt.str); got != tt.want {
			t.Errorf("%q is %q, want %q", tt.bytes, got, tt.want)
		}
	}
}

func TestCodeIsReadInPieces(t *testing.T) {
	var r bpf.WirePycodeRec
	copy(r.Name[:], "f")
	r.NameStr = bpf.WirePyStr{Length: 1, State: 1 << 2}
	r.H.Sub, r.TableBytes, r.Firstline = uint8(lnotab), 6, 10
	c := NewCode(&r, []byte{2, 1, 2, 1})
	if c.Append(2, []byte{2, 1}) || c.Append(4, []byte{2, 1, 2}) {
		t.Error("a piece that does not fit is taken")
	}
	if !c.Append(4, []byte{2, 1}) {
		t.Error("the last piece is not taken")
	}
	if f := c.Frame(6); f != (event.Frame{Kind: event.FramePython, Symbol: "f", Line: 13}) {
		t.Errorf("got %+v", f)
	}
}

func TestPythonFramesReplaceTheLoop(t *testing.T) {
	const loop = "_PyEval_EvalFrameDefault"
	for name, tt := range map[string]struct{ native, python, want string }{
		"one run": {"free ffi " + loop + " main", "b a.", "free ffi b a main"},
		"C between runs": {
			"free " + loop + " sort " + loop + " main", "d c. b a.",
			"free d c sort b a main",
		},
		"a call for every frame":          {loop + " call " + loop, "b. a.", "b call a"},
		"native stack not walked":         {"free ffi", "b. a.", "free ffi b a"},
		"native stack cut":                {"free " + loop + " sort", "c. b. a.", "free c sort b a"},
		"Python stack cut":                {"free " + loop + " x " + loop + " main", "b", "free b x " + loop + " main"},
		"no native stack":                 {"", "b a.", "b a"},
		"no Python":                       {"free " + loop, "", "free " + loop},
		"a part of the loop, moved apart": {"free " + loop + ".cold main", "a.", "free a main"},
		"3.14 with tail calls":            {"free _TAIL_CALL_CALL main", "a.", "free a main"},
	} {
		var native []event.Frame
		for s := range strings.FieldsSeq(tt.native) {
			native = append(native, event.Frame{Kind: event.FrameNative, Symbol: s})
		}
		var py []Frame
		for s := range strings.FieldsSeq(tt.python) {
			function, entry := strings.CutSuffix(s, ".")
			py = append(py, Frame{Frame: event.Frame{Kind: event.FramePython, Symbol: function}, Entry: entry})
		}
		var got []string
		for _, f := range Merge(native, py) {
			got = append(got, f.Symbol)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %s, want %s", name, s, tt.want)
		}
	}
}
