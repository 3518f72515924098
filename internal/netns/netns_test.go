package netns

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A process that was killed leaves its nodes. The next one removes them, and not those of processes that run.
func TestWhatIsLeftIsRemoved(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: nodes need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("SKIPPED: nodes are made by ip, which is not here")
	}
	ended := exec.CommandContext(t.Context(), "true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	left := fmt.Sprintf("ingero-%da", ended.Process.Pid)
	if err := ip(t.Context(), "netns", "add", left); err != nil {
		t.Skipf("SKIPPED: no network namespace can be made here: %v", err)
	}
	one, err := New(t.Context(), 0, "10.215.1")
	if err != nil {
		t.Fatal(err)
	}
	other, err := New(t.Context(), 1, "10.215.2")
	if err != nil {
		t.Fatal(err)
	}
	list, err := output(t.Context(), "netns", "list")
	if err != nil || strings.Contains(list, left) {
		t.Errorf("%s %v", list, err)
	}
	for _, n := range []*Namespace{one, other} {
		if !strings.Contains(list, n.Name) {
			t.Errorf("%s is not in %s", n.Name, list)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
}
