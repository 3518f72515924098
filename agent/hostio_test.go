package agent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// ownDD is dd by a name of the test's own: somebody else on the machine may use dd, too.
func ownDD(t *testing.T) string {
	t.Helper()
	dd, err := exec.LookPath("dd")
	if err != nil {
		kerneltest.Lacks(t, "dd is missing")
	}
	b, err := os.ReadFile(dd)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "own-dd")
	if err := os.WriteFile(path, b, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhatACommandWritesIsRecordedWithDeviceAndFile(t *testing.T) {
	kerneltest.Require(t)
	path := filepath.Join(t.TempDir(), "out file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	c := newCounter()
	o := c.options()
	o.Command = []string{
		"bash", "-c",
		`exec 3<>"$1"; "$2" if=/dev/zero of="$1" bs=4k count=100 oflag=direct conv=notrunc,fsync 2>/dev/null
sleep 0.2; for i in {1..40}; do echo $i >&3; sync -d "$1"; done; sleep 1.3`, "-", path, ownDD(t),
	}
	if _, err := agent.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	var bytes uint64
	named := map[event.Device]string{}
	for _, d := range c.io.Devices {
		named[d.Device] = d.Name
	}
	for _, s := range c.io.RequestSums {
		if s.Comm == "own-dd" && s.Op == event.OpBlockWrite {
			bytes += s.Bytes
		}
		if named[s.Device] == "" {
			t.Errorf("device %v has no name", s.Device)
		}
	}
	if bytes < 100*4096 {
		t.Errorf("%d bytes were written by dd", bytes)
	}
	seen := uint64(0)
	for _, q := range c.requests {
		if q.Comm == "own-dd" && q.Op == event.OpBlockWrite {
			seen += uint64(q.Bytes)
			if c.threads[q.Thread] != "own-dd" {
				t.Fatalf("thread %v is %q", q.Thread, c.threads[q.Thread])
			}
		}
	}
	if seen != bytes {
		t.Errorf("%d bytes one by one, %d in the sums", seen, bytes)
	}
	files := 0
	for _, f := range c.io.Files {
		if f.Inode == st.Ino && f.Path == path {
			files++
		}
	}
	faults := uint64(0)
	for _, m := range c.io.HostMemory {
		faults += m.MinorFaults
		if m.RSS == 0 {
			t.Errorf("no memory: %+v", m)
		}
	}
	if files == 0 || faults == 0 {
		t.Errorf("the file was named %d times (of %d), %d page faults in %d seconds", files, len(c.io.Files), faults,
			len(c.io.HostMemory))
	}
}
