package agent

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/store"
)

// A snapshot is of the second before it: what was busy and who waited since the last
// one, and how much memory there is now.
func TestSnapshotsAreOfTheSecondBefore(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	psi := func(someUS, fullUS int) string {
		return fmt.Sprintf("some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 "+
			"total=%d\n", someUS, fullUS)
	}
	write("meminfo", "MemTotal: 8388608 kB\nMemFree: 1 kB\nMemAvailable: 2097152 kB\n")
	write("stat", "cpu 1000 0 500 8000 500 0 0 100 0 0\n"+
		"cpu0 450 0 250 4050 250 0 0 0 0 0\ncpu2 550 0 250 4000 250 0 0 100 0 0\n")
	for name, v := range map[string][2]int{"cpu": {1000, 0}, "memory": {2000, 1000}, "io": {3000, 2000}} {
		write("pressure/"+name, psi(v[0], v[1]))
	}
	p := newProcessTable(proc.New(root))
	began := time.Unix(1_700_000_000, 0)
	p.snapshot(began)
	// 100 of 200 ticks busy, 30 of them stolen
	write("stat", "cpu 1060 0 510 8100 500 0 0 130 0 0\n"+
		"cpu0 500 0 250 4100 250 0 0 0 0 0\ncpu2 560 0 260 4000 250 0 0 130 0 0\nintr 7\n")
	for name, v := range map[string][2]int{"cpu": {101_000, 0}, "memory": {202_000, 51_000}, "io": {903_000, 402_000}} {
		write("pressure/"+name, psi(v[0], v[1]))
	}
	now := began.Add(time.Second)
	list := p.snapshot(now)
	if len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	s := list[0]
	want := store.Snapshot{
		At: uint64(now.UnixNano()), CPUPct: 50, StealPct: 15, MemPct: 75, MemAvailableMB: 2048,
		Pressure: store.Pressure{CPU: 10, Memory: 20, MemoryFull: 5, IO: 90, IOFull: 40},
		CPUs:     store.NewCPUBusy(map[int]float64{0: 50, 2: 100}),
	}
	swap, load := s.SwapMB, s.Load
	s.SwapMB, s.Load = 0, 0
	if s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
	checkSwapAndLoad(t, swap, load)
}

// checkSwapAndLoad compares what sysinfo(2) says with what /proc does.
func checkSwapAndLoad(t *testing.T, swapMB uint64, load float64) {
	t.Helper()
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	kib := map[string]uint64{}
	for line := range strings.Lines(string(b)) {
		var name string
		var n uint64
		if _, err := fmt.Sscan(line, &name, &n); err == nil {
			kib[name] = n
		}
	}
	used := (kib["SwapTotal:"] - kib["SwapFree:"]) >> 10
	if d := max(used, swapMB) - min(used, swapMB); d > 64 {
		t.Errorf("%d MB of swap in use, /proc says %d", swapMB, used)
	}
	if b, err = os.ReadFile("/proc/loadavg"); err != nil {
		t.Fatal(err)
	}
	var one float64
	if _, err := fmt.Sscan(string(b), &one); err != nil {
		t.Fatal(err)
	}
	if math.Abs(one-load) > 1 {
		t.Errorf("load %.2f, /proc says %.2f", load, one)
	}
}
