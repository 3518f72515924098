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

func TestDeviceNode(t *testing.T) {
	sys := t.TempDir()
	for name, node := range map[string]string{
		"0000:3b:00.0": "0", "0000:af:00.0": "1", "10000:01:00.0": "3", "0000:05:00.0": "-1", "0000:06:00.0": "x",
	} {
		dir := filepath.Join(sys, "bus/pci/devices", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "numa_node"), []byte(node+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for address, want := range map[string]int{
		"00000000:3B:00.0": 0, "0000:af:00.0": 1, "00010000:01:00.0": 3, // as NVML writes them, and the kernel
		"00000000:05:00.0": -1, "00000000:06:00.0": -1, "00000000:07:00.0": -1, "": -1, "../../etc": -1,
	} {
		if got := proc.DeviceNode(sys, address); got != want {
			t.Errorf("%q is at node %d, want %d", address, got, want)
		}
	}
}
