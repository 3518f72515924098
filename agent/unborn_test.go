package agent

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/probe"
)

func TestMappingsWaitForTheBirthOfTheirProcess(t *testing.T) {
	t.Parallel()
	var u unborn
	of := func(pid uint32) (paths []string) {
		u.of(pid, func(m *probe.Mapped) { paths = append(paths, m.Path) })
		return paths
	}
	now := 100 * time.Second
	age := func(at uint64) time.Duration { return now - time.Duration(at) }
	u.add(probe.Mapped{PID: 1, Path: "/bin/sh", At: uint64(now)})
	u.add(probe.Mapped{PID: 2, Path: "/bin/ls", At: uint64(now)})
	u.add(probe.Mapped{PID: 1, Path: "/lib/libc.so.6", At: uint64(now + unbornFor/2)})
	for range 5 { // a second each
		now += time.Second
		u.forget(age)
	}
	if got := of(1); !slices.Equal(got, []string{"/bin/sh", "/lib/libc.so.6"}) {
		t.Errorf("5 s later: %q", got)
	}
	now += unbornFor - 4*time.Second
	u.forget(age)
	if got := of(1); !slices.Equal(got, []string{"/lib/libc.so.6"}) {
		t.Errorf("later: %q", got)
	}
	for i := range 2 * maxUnborn {
		u.add(probe.Mapped{PID: 3, Path: fmt.Sprint(i), At: uint64(now)})
	}
	if got := of(3); len(u) > maxUnborn || len(got) < maxUnborn/2 || got[len(got)-1] != fmt.Sprint(2*maxUnborn-1) {
		t.Errorf("%d kept, the last of them %q", len(u), got[len(got)-1])
	}
}
