package agent

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
)

func TestMappingsAreKeptUntilTheForkIsReported(t *testing.T) {
	t.Parallel()
	var p pendingMaps
	of := func(pid uint32) (paths []string) {
		p.of(pid, func(m *probe.Mapped) { paths = append(paths, m.Path) })
		return paths
	}
	now := 100 * time.Second
	age := func(at uint64) time.Duration { return now - time.Duration(at) }
	p.addMapped(probe.Mapped{PID: 1, Path: "/bin/sh", At: uint64(now)})
	p.addMapped(probe.Mapped{PID: 2, Path: "/bin/ls", At: uint64(now)})
	p.addMapped(probe.Mapped{PID: 1, Path: "/lib/libc.so.6", At: uint64(now + pendingFor/2)})
	for range 5 { // a second each
		now += time.Second
		p.forget(age)
	}
	if got := of(1); !slices.Equal(got, []string{"/bin/sh", "/lib/libc.so.6"}) {
		t.Errorf("5 s later: %q", got)
	}
	now += pendingFor - 4*time.Second
	p.forget(age)
	if got := of(1); !slices.Equal(got, []string{"/lib/libc.so.6"}) {
		t.Errorf("later: %q", got)
	}
	for i := range 2 * maxPending {
		p.addMapped(probe.Mapped{PID: 3, Path: fmt.Sprint(i), At: uint64(now)})
	}
	if got := of(3); len(p) > maxPending || len(got) < maxPending/2 || got[len(got)-1] != fmt.Sprint(2*maxPending-1) {
		t.Errorf("%d kept, the last of them %q", len(p), got[len(got)-1])
	}
}
