package agent

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// A library may pin the threads of its process while it runs: that is seen a second later, with what was before.
func TestAChangedAffinityIsSeen(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	if all.Count() < 2 {
		t.Skip("needs two CPUs")
	}
	defer func() { _ = unix.SchedSetaffinity(0, &all) }()
	const second = 1_000_000_000
	self := event.Thread{PID: uint32(os.Getpid()), TID: uint32(unix.Gettid())}
	s, fs := scheduling{known: map[event.Thread]seenScheduling{}}, proc.New("")
	at := func(ns uint64) { s.observe(fs, &event.OffCPU{Start: ns, Duration: 1000, Thread: self, Dispatch: true}) }
	at(second)
	if len(s.fresh) != 1 || s.fresh[0].CPUs == "" || s.fresh[0].Before != "" {
		t.Fatalf("%+v", s.fresh)
	}
	before := s.fresh[0].CPUs
	var one unix.CPUSet
	for cpu := range 8 * len(all) * 8 {
		if all.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
	at(second + second/2)
	if len(s.fresh) != 1 {
		t.Errorf("looked again after half a second: %+v", s.fresh)
	}
	at(3 * second)
	at(4 * second)
	at(5 * second)
	want := store.Scheduling{Thread: self, CPUs: s.fresh[len(s.fresh)-1].CPUs, Before: before, Changed: 3*second + 1000}
	got := s.fresh[len(s.fresh)-1]
	got.Policy, got.Nice, got.Realtime = 0, 0, 0
	if len(s.fresh) != 2 || got != want || got.CPUs == before {
		t.Errorf("%+v, want %+v", s.fresh, want)
	}
}
