package soak

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/ingero-io/ingero/internal/kerneltest"
)

// What is read of this process is what it does: it opens a file, makes a map, uses the CPU.
func TestReadSample(t *testing.T) {
	kerneltest.Require(t)
	recording := filepath.Join(t.TempDir(), "x.db")
	for name, bytes := range map[string]int{recording: 1000, recording + "-wal": 24} {
		if err := os.WriteFile(name, make([]byte, bytes), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before, err := readSample(os.Getpid(), recording)
	if err != nil {
		t.Fatal(err)
	}
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f, err := os.Open(recording)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var after sample
	until(t, "CPU time is counted", func() bool {
		if after, err = readSample(os.Getpid(), recording); err != nil {
			t.Fatal(err)
		}
		return after.ticks > before.ticks
	})
	if after.maps != before.maps+1 || after.descriptors < before.descriptors+2 || after.file != 1024 ||
		after.rss < 1<<20 || after.own < 1<<20 || after.own > after.rss || after.mappings == 0 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	what, may := more(after.open, before.open, "", mappedByAny)
	if !slices.Contains(what, "1 more of "+recording) || may != 0 {
		t.Errorf("what is open more: %q, of which %d may be", what, may)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]int{1: 3, 2: 2} { // more of the recording
		now := map[string]int{program: 3, recording: n}
		if _, may := more(now, map[string]int{program: 1}, recording, mappedByAny); may != want {
			t.Errorf("%d more descriptors of the recording: %d may be there, want %d", n, may, want)
		}
	}
}

func TestRates(t *testing.T) {
	begin := time.Unix(1000, 0)
	before := sample{at: begin, life: 1, ticks: 100, file: 5000}
	s := sample{at: begin.Add(2 * time.Second), life: 1, ticks: 150, file: 9000}
	if s.follow(&before); !s.rates || s.cpu != 0.25 || s.grown != 2000 {
		t.Errorf("%+v", s)
	}
	next := sample{at: begin.Add(4 * time.Second), life: 2}
	if next.follow(&s); next.rates {
		t.Errorf("of another life: %+v", next)
	}
}
