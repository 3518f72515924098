package addrspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/symbol/addrspace"
)

// fake returns a cache of a proc file system with process 7, whose mappings a test writes.
func fake(t *testing.T) (c *addrspace.Cache[int], write func(maps string)) {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "7")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return addrspace.New[int](proc.New(root)), func(maps string) {
		if err := os.WriteFile(filepath.Join(dir, "maps"), []byte(maps), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	program = "1000-2000 r-xp 00001000 fe:00 11   /bin/my prog\n1000-3000 rw-p 00002000 fe:00 11   /bin/my prog\n"
	library = "5000-6000 r-xp 00000000 fe:00 12   /lib/x.so (deleted)\n"
	others  = "7000-8000 rwxp 00000000 00:00 0\n9000-a000 r-xp 00000000 00:00 0    [vdso]\n"
)

func TestAddressesBelongToWhatCanBeExecuted(t *testing.T) {
	c, write := fake(t)
	write(program + library + others)
	p := c.Process(7)
	for addr, want := range map[uint64]string{
		0x1000: "/bin/my prog", 0x1fff: "/bin/my prog", 0x5000: "/lib/x.so",
		0x7fff: "", 0x9000: "[vdso]",
	} {
		m := p.Find(addr)
		if m == nil || m.Path != want {
			t.Errorf("%#x: got %+v, want %q", addr, m, want)
		}
	}
	for _, addr := range []uint64{0, 0xfff, 0x2000, 0x6000, ^uint64(0)} {
		if m := p.Find(addr); m != nil {
			t.Errorf("%#x: got %+v", addr, m)
		}
	}
}

func TestStateStaysWithItsMapping(t *testing.T) {
	c, write := fake(t)
	write(program)
	c.Process(7).Find(0x1000).State = 5
	write(program + library)
	p := c.Process(7)
	if m := p.Find(0x5000); m == nil || m.State != 0 {
		t.Fatalf("a library loaded since is not found: %+v", m)
	}
	if m := p.Find(0x1000); m.State != 5 {
		t.Errorf("state %d", m.State)
	}
	seen := 0
	c.Each(func(*addrspace.Mapping[int]) { seen++ })
	if seen != 2 {
		t.Errorf("%d mappings", seen)
	}
}

func TestReadsThatFindNothingNewGetLessFrequent(t *testing.T) {
	c, write := fake(t)
	write(program)
	for range 100 {
		c.Process(7).Find(0x5000)
	}
	write(program + library)
	found := 0
	for range 200 {
		if c.Process(7).Find(0x5000) != nil {
			found++
		}
	}
	if found == 0 || found > 199 {
		t.Errorf("found %d of 200 times", found)
	}
}

func TestEndedProcessKeepsItsMappingsUntilForgotten(t *testing.T) {
	c, write := fake(t)
	write(program)
	c.Process(7)
	write("")
	if p := c.Process(7); p.Find(0x5000) != nil || p.Find(0x1000) == nil {
		t.Error("what was known is lost")
	}
	if !c.Forget(7) || c.Forget(7) {
		t.Error("forgetting says the wrong thing")
	}
	if p := c.Process(7); p.Find(0x1000) != nil {
		t.Error("a process that is gone has mappings")
	}
	write(program) // another process with the id
	if c.Process(7).Find(0x1000) == nil {
		t.Error("a process that was gone at first is not read again")
	}
}

func TestForkedProcessHasItsParentsMappings(t *testing.T) {
	c, write := fake(t)
	write(program + library)
	c.Process(7).Find(0x1000).State = 5
	c.Fork(7, 8) // which has ended by now
	if m := c.Process(8).Find(0x1000); m == nil || m.State != 5 || m.Path != "/bin/my prog" {
		t.Fatalf("the child has %+v", m)
	}
	c.Process(8).Find(0x1000).State = 6
	if m := c.Process(7).Find(0x1000); m.State != 5 {
		t.Errorf("the parent's state became %d with the child's", m.State)
	}
	c.Fork(99, 100) // the parent is not known
	if m := c.Process(100).Find(0x1000); m != nil {
		t.Errorf("a child of nobody has %+v", m)
	}
	c.Forget(8)
	if m := c.Process(8).Find(0x1000); m != nil {
		t.Errorf("after it was forgotten the child has %+v", m)
	}
}

// A cache passes what it reads to another one.
func TestReadMappingsAreReported(t *testing.T) {
	c, write := fake(t)
	other := addrspace.New[int](proc.New(t.TempDir())) // finds no process
	reported := 0
	c.OnRead = func(pid int, code []proc.Mapping) {
		if reported++; code == nil {
			other.Forget(pid)
			return
		}
		other.Know(pid, code)
	}
	find := func(addr uint64) *addrspace.Mapping[int] { return other.Process(7).Find(addr) }
	write(program)
	c.Process(7)
	if m := find(0x1000); m == nil || m.Path != "/bin/my prog" {
		t.Fatalf("got %+v", m)
	}
	find(0x1000).State = 5
	c.Process(7).Find(0x5000) // reads, and finds nothing new
	write(program + library)
	for range 3 {
		c.Process(7).Find(0x5000)
	}
	if m := find(0x5000); m == nil || m.Path != "/lib/x.so" || find(0x1000).State != 5 {
		t.Errorf("a library loaded since: %+v, state %d", m, find(0x1000).State)
	}
	c.Forget(7)
	if find(0x1000) != nil || reported != 3 {
		t.Errorf("not forgotten, or reported %d times", reported)
	}
}
