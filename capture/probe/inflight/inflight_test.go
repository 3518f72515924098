package inflight

import (
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/probe/kernel"
)

// The program and those that read it agree from which age on a call is reported.
func TestTheProgramHasTheMinimumAge(t *testing.T) {
	s, err := LoadInFlight()
	if err != nil {
		t.Fatal(err)
	}
	attach, err := prepare(s, &kernel.Host{})
	if err != nil || len(attach) != 0 {
		t.Errorf("attach %v, %v", attach, err)
	}
	var ns uint64
	if err := s.Variables["min_ns"].Get(&ns); err != nil || time.Duration(ns) != MinAge {
		t.Errorf("calls are reported from %d ns on, %v; want %v", ns, err, MinAge)
	}
	if s.Programs[Probe.Iterator] == nil {
		t.Errorf("there is no program %s", Probe.Iterator)
	}
}
