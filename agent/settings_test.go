package agent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

func TestSettingsAreRecordedOnceAndWhenTheyChange(t *testing.T) {
	s := newSettings(proc.New(t.TempDir()))
	machine := map[string]string{"clock_source": "tsc", "numa_balancing": "0"}
	s.machine = func() map[string]string { return machine }
	start := time.Unix(1000, 0)
	at := func(d time.Duration) (list []store.Setting) {
		list = s.look(start.Add(d))
		for i := range list {
			list[i].At -= uint64(start.UnixNano())
		}
		return list
	}
	want := []store.Setting{{Name: "clock_source", Value: "tsc"}, {Name: "numa_balancing", Value: "0"}}
	if d := cmp.Diff(want, at(0)); d != "" {
		t.Error(d)
	}
	machine = map[string]string{"clock_source": "hpet"}
	if list := at(time.Second); len(list) != 0 {
		t.Errorf("a second later it is looked at again: %+v", list)
	}
	later := uint64(lookAtSettings)
	want = []store.Setting{{At: later, Name: "clock_source", Value: "hpet"}, {At: later, Name: "numa_balancing"}}
	if d := cmp.Diff(want, at(lookAtSettings)); d != "" {
		t.Error(d)
	}
	if list := at(2 * lookAtSettings); len(list) != 0 {
		t.Errorf("nothing has changed: %+v", list)
	}
}

func TestSettingsOfManyProcessesAreReadOverTime(t *testing.T) {
	s := newSettings(proc.New(t.TempDir()))
	s.machine = func() map[string]string { return nil }
	var calls []event.Call
	for pid := range uint32(3 * keptSettings) {
		calls = append(calls, event.Call{Thread: event.Thread{PID: pid + 1, TID: pid + 1}})
	}
	s.calls(calls)
	if len(s.known) > keptSettings || len(s.asked) > keptSettings {
		t.Errorf("%d processes are known, %d asked for", len(s.known), len(s.asked))
	}
	before := len(s.asked)
	s.look(time.Unix(1000, 0))
	if n := before - len(s.asked); n != maxSettings {
		t.Errorf("%d processes are looked at in a second", n)
	}
	ended := s.asked[0]
	s.forget(&event.Life{Thread: event.Thread{PID: ended, TID: ended}})
	s.look(time.Unix(1001, 0))
	if _, ok := s.known[ended]; ok {
		t.Error("a process that has ended is known")
	}
}
