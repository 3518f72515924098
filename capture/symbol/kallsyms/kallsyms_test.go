package kallsyms_test

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/symbol/kallsyms"
	"github.com/ingero-io/ingero/event"
)

const sample = `0000000000000000 A fixed_percpu_data
ffffffff81000000 T _text
ffffffff81000000 T _stext
ffffffff81000100 T schedule
ffffffff81000400 t futex_wait_queue
ffffffff81000500 D some_data
ffffffff81000600 W weak_one
ffffffffc0201000 t nv_open	[nvidia]
ffffffffc0200000 t nv_init	[nvidia]
ffffffffc0300000 t bpf_prog_1_x	[bpf]
garbage
ffffffff8100zzzz T nothing
`

func table(t testing.TB, content string) *kallsyms.Table {
	t.Helper()
	name := filepath.Join(t.TempDir(), "kallsyms")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return kallsyms.New(name)
}

func TestAddressesAreNamed(t *testing.T) {
	frame := func(addr uint64, symbol, module string, offset uint64) event.Frame {
		return event.Frame{Kind: event.FrameKernel, Addr: addr, Symbol: symbol, Module: module, Offset: offset}
	}
	want := []event.Frame{
		frame(0xffffffff81000001, "_text", "kernel", 1),
		frame(0xffffffff81000100, "_text", "kernel", 0x100), // of a call that does not return
		frame(0xffffffff81000101, "schedule", "kernel", 0x101),
		frame(0xffffffff81000550, "futex_wait_queue", "kernel", 0x550),
		frame(0xffffffff81000601, "weak_one", "kernel", 0x601),
		frame(0xffffffff81f00000, "", "kernel", 0),
		frame(0xffffffffc0200010, "nv_init", "nvidia", 0x10),
		frame(0xffffffffc0201010, "nv_open", "nvidia", 0x1010),
		frame(0xffffffffc0300008, "bpf_prog_1_x", "bpf", 8),
		frame(0x1000, "", "kernel", 0),
		frame(0, "", "kernel", 0),
	}
	var addrs []uint64
	for _, f := range want {
		addrs = append(addrs, f.Addr)
	}
	tab := table(t, sample)
	if got := tab.Resolve(addrs); !reflect.DeepEqual(got, want) {
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%#x: got %+v, want %+v", addrs[i], got[i], want[i])
			}
		}
	}
	if err := tab.Err(); err != nil {
		t.Error(err)
	}
}

func TestHiddenAddressesAreExplained(t *testing.T) {
	var zeros strings.Builder
	for line := range strings.Lines(sample) {
		if _, rest, ok := strings.Cut(line, " "); ok {
			zeros.WriteString("0000000000000000 " + rest)
		}
	}
	tab := table(t, zeros.String())
	got := tab.Resolve([]uint64{0xffffffff81000101})
	if got[0] != (event.Frame{Kind: event.FrameKernel, Addr: 0xffffffff81000101, Module: "kernel"}) {
		t.Errorf("got %+v", got)
	}
	if err := tab.Err(); !errors.Is(err, kallsyms.ErrHidden) {
		t.Errorf("got %v, want ErrHidden", err)
	}
}

func TestUnreadableTableIsExplained(t *testing.T) {
	tab := kallsyms.New(filepath.Join(t.TempDir(), "none"))
	if f := tab.Resolve([]uint64{1 << 63}); len(f) != 1 || f[0].Symbol != "" {
		t.Errorf("got %+v", f)
	}
	if err := tab.Err(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := table(t, "").Err(); err == nil {
		t.Error("no error for an empty file")
	}
}

// running returns some functions of the running kernel.
func running(t *testing.T) map[string]uint64 {
	t.Helper()
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		t.Skip("needs /proc/kallsyms: ", err)
	}
	defer f.Close()
	found := map[string]uint64{}
	for s := bufio.NewScanner(f); s.Scan() && len(found) < 3; {
		w := strings.Fields(s.Text())
		switch w[2] {
		case "schedule", "do_exit", "vfs_read":
			if found[w[2]], err = strconv.ParseUint(w[0], 16, 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	if found["schedule"] == 0 {
		t.Skip("needs root to see kernel addresses")
	}
	return found
}

func TestRunningKernelFitsTheBudget(t *testing.T) {
	functions := running(t)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	tab := kallsyms.New("")
	start := time.Now()
	if err := tab.Err(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	used := int64(heap()) - int64(before)
	t.Logf("read in %v, %d KiB", took, used>>10)
	if used > 6<<20 {
		t.Errorf("takes %d bytes, want at most 6 MiB", used)
	}
	for name, addr := range functions {
		if f := tab.Resolve([]uint64{addr + 4}); f[0].Symbol != name || f[0].Module != kallsyms.Kernel {
			t.Errorf("%s: got %+v", name, f[0])
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample, uint64(0xffffffff81000100))
	f.Add("ffffffffc0201000 t a\t[", uint64(1))
	f.Fuzz(func(t *testing.T, content string, addr uint64) {
		if len(content) > 1<<12 {
			return
		}
		table(t, content).Resolve([]uint64{addr, addr + 1})
	})
}
