package event_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
)

func TestNamesAreUniqueAndKnown(t *testing.T) {
	seen := map[string]bool{}
	check := func(name string) {
		t.Helper()
		if name == "" || seen[name] {
			t.Errorf("name %q is empty or used twice", name)
		}
		seen[name] = true
	}
	for _, s := range event.Sources {
		check(s.Name)
		if s.Source.String() != s.Name {
			t.Errorf("source %d is %s and %s", s.Source, s.Name, s.Source)
		}
		if s.Source == 2 {
			t.Error("source 2 is retired")
		}
	}
	clear(seen)
	titles := map[string]bool{}
	for c := range event.NumClasses + 1 {
		check(c.String())
		if titles[c.Title()] || c.Title() == "" {
			t.Errorf("%s: the title %q is none of its own", c, c.Title())
		}
		titles[c.Title()] = true
		if got, ok := event.ClassByName(c.String()); !ok || got != c {
			t.Errorf("%s is class %d and %d", c, c, got)
		}
	}
	clear(seen)
	for k := range event.NumLossKinds {
		check(k.String())
		if l := event.Losses[k]; l.Unit == "" || l.Doc == "" || strings.Count(l.Short, l.Unit) != 1 {
			t.Errorf("%s is not explained", k)
		}
	}
	for n, want := range map[uint64]string{
		0: "context switches the kernel did not report", 1: "context switch the kernel did not report",
		2: "context switches the kernel did not report",
	} {
		if got := event.Losses[event.LostSwitch].Words(n); got != want {
			t.Errorf("%d %s, want %s", n, got, want)
		}
	}
	clear(seen)
	for k := event.LifeFork; k <= event.LifeUnfinished; k++ {
		check(k.String())
	}
	for k := event.FrameNative; k <= event.FramePython; k++ {
		check(k.String())
	}
}

func TestUnknownNumbersHaveNames(t *testing.T) {
	for want, got := range map[string]string{
		"source-2": event.Source(2).String(), "class-12": event.Class(12).String(), "life-0": event.LifeKind(0).String(),
		"life-7": event.LifeKind(7).String(), "frame-4": event.StackKind(4).String(),
		"reclaim-0": event.ReclaimKind(0).String(), "reclaim-4": event.ReclaimKind(4).String(),
		"socket-4": event.SocketKind(4).String(),
		fmt.Sprintf("loss-%d", uint8(event.NumLossKinds)): event.NumLossKinds.String(),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if _, ok := event.ClassByName("none"); ok {
		t.Error("found a class that is not there")
	}
}

func TestLedgersAddUp(t *testing.T) {
	a := event.Ledger{Voluntary: 0xfff0, Involuntary: 1}
	a.NS[event.Futex], a.NS[event.RunQueue] = 5, 7
	b := event.Ledger{Voluntary: 0x20, Involuntary: 2}
	b.NS[event.Futex] = 1
	a.Add(&b)
	want := event.Ledger{Voluntary: 0xffff, Involuntary: 3}
	want.NS[event.Futex], want.NS[event.RunQueue] = 6, 7
	if a != want || a.Total() != 13 || a.IsZero() {
		t.Errorf("got %+v", a)
	}
	if !new(event.Ledger).IsZero() {
		t.Error("an empty ledger is not zero")
	}
	if (&event.Ledger{Involuntary: 1}).IsZero() {
		t.Error("a ledger with a context switch is zero")
	}
}

func TestCallEnds(t *testing.T) {
	if c := (event.Call{Start: 5, Duration: 7}); c.End() != 12 {
		t.Errorf("got %d", c.End())
	}
}

func TestAQueryThatFindsWorkPendingHasNotFailed(t *testing.T) {
	query, init := opNamed(t, "cudaStreamQuery"), opNamed(t, "ncclCommInitRankConfig")
	for _, c := range []struct {
		op     event.Op
		ret    int32
		failed bool
	}{{query, 0, false}, {query, 600, false}, {query, 700, true}, {init, 7, false}, {init, 600, true}, {query, 7, true}} {
		if got := (&event.Call{Op: c.op, Ret: c.ret}).Failed(); got != c.failed {
			t.Errorf("%s that returns %d failed: %v", c.op, c.ret, got)
		}
	}
}

func opNamed(t *testing.T, name string) event.Op {
	t.Helper()
	i, ok := event.ByName(name)
	if !ok {
		t.Fatal("there is no", name)
	}
	return i.Op
}
