package pages_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/pages"
	"github.com/ingero-io/ingero/capture/probe/probetest"
	"github.com/ingero-io/ingero/event"
)

func TestMain(m *testing.M) { probetest.Main(m) }

func TestPagesAreCountedForTheAllocatingProcess(t *testing.T) {
	tr := probetest.Open(t, probe.Options{})
	p, err := tr.OpenPages()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Read(1); err != nil { // what came before
		t.Fatal(err)
	}
	const size = 64 << 20
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	renamed := filepath.Join(t.TempDir(), "other")
	if err := os.Symlink(exe, renamed); err != nil {
		t.Fatal(err)
	}
	touch := func(program string, bytes int) (pid uint32) {
		t.Helper()
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", probetest.Toucher, bytes))
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		return uint32(cmd.Process.Pid)
	}
	own, other := touch(exe, size), touch(renamed, size/2)
	list, err := p.Read(2)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint32]event.PageSum{}
	for _, s := range list {
		seen[s.PID] = s
		if s.At != 2 || s.Bytes != s.Pages*uint64(os.Getpagesize()) || s.NoWaitBytes > s.Bytes || s.Pages > 0 &&
			s.Allocations == 0 {
			t.Errorf("%+v", s)
		}
	}
	for _, c := range []struct {
		pid   uint32
		comm  string
		bytes uint64
	}{{own, "pages.test", size}, {other, "other", size / 2}} {
		// A Go program needs some for itself.
		if s := seen[c.pid]; s.Bytes < c.bytes || s.Bytes > c.bytes+16<<20 ||
			s.Allocations < c.bytes/uint64(os.Getpagesize()) || s.Comm != c.comm || s.Failed != 0 {
			t.Errorf("%+v, of a process that touched %d bytes", s, c.bytes)
		}
	}
	if err := p.Detach(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Read(3); err != nil {
		t.Fatal(err)
	}
	if again, err := p.Read(4); err != nil || len(again) != 0 {
		t.Errorf("reported again: %+v, %v", again, err)
	}
}

// Those for whom there is no room are counted together.
func TestPagesOfTooManyProcessesAreCounted(t *testing.T) {
	tr := probetest.Open(t, probe.Options{})
	l, err := tr.Open(pages.Probe(2))
	if err != nil {
		t.Fatal(err)
	}
	p, err := pages.NewCounter(l, func(uint32) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 3 {
		if err := exec.Command("dd", "if=/dev/zero", "of=/dev/null", "bs=8M", "count=1").Run(); err != nil {
			t.Fatal(err)
		}
	}
	list, err := p.Read(1)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].PID != 0 || list[0].Bytes < 16<<20 {
		t.Errorf("%+v", list)
	}
}
