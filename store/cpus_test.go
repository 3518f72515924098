package store_test

import (
	"testing"

	"github.com/ingero-io/ingero/store"
)

func TestCPUBusyKeepsEachCPU(t *testing.T) {
	b := store.NewCPUBusy(map[int]float64{0: 0, 2: 99.6, 3: 250, 4: -1})
	for cpu, want := range []float64{0, -1, 100, 100, 0, -1} {
		pct, ok := b.Pct(cpu)
		if ok != (want >= 0) || ok && pct != want {
			t.Errorf("CPU %d: %v, %v; want %v", cpu, pct, ok, want)
		}
	}
	if b := store.NewCPUBusy(nil); b != "" {
		t.Errorf("of no CPU %q", b)
	}
	for i := range len(b) {
		if b[i] == 0 || b[i] > 127 {
			t.Errorf("byte %d is no ASCII, which SQL reads: %d", i, b[i])
		}
	}
}
