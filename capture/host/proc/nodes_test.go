package proc_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ingero-io/ingero/capture/host/proc"
)

func TestMemoryNodes(t *testing.T) {
	sys := t.TempDir()
	add := func(node, cpus string) {
		dir := filepath.Join(sys, "devices/system/node", node)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "cpulist"), []byte(cpus), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := proc.MemoryNodes(sys); got != nil {
		t.Errorf("no nodes read as %q", got)
	}
	add("node0", "0-1,8\n")
	if got := proc.MemoryNodes(sys); got != nil {
		t.Errorf("one node read as %q", got)
	}
	add("node1", "2-3\n")
	if got, want := proc.MemoryNodes(sys), []string{"0-1,8", "2-3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
