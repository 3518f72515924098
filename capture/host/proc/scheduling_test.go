package proc_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/host/proc"
)

func TestSchedulingOfAThread(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "7/task/8")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for stat, want := range map[string]proc.Scheduling{
		"8 (irq) x) S 2 0 0 0 -1 2129984 0 0 0 0 0 5 0 0 -51 0 1 0 9 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 " +
			"0 0 0 17 1 50 1 0 0 0": {Policy: 1, Realtime: 50},
		"8 (nice) R 2 0 0 0 -1 2129984 0 0 0 0 0 5 0 0 39 19 1 0 9 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 " +
			"0 0 17 1 0 3 0 0 0": {Policy: 3, Nice: 19},
	} {
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := proc.New(root).Scheduling(7, 8); got != want || err != nil {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "status"),
		[]byte("Name:\tx\nCpus_allowed:\t10f\nCpus_allowed_list:\t0-3,8\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := proc.New(root).Affinity(7, 8); got != "0-3,8" || err != nil {
		t.Errorf("affinity %q, %v", got, err)
	}
	for _, bad := range []string{
		"", "8 (x) S 1 2",
		"8 (x) S 2 0 0 0 -1 2129984 0 0 0 0 0 5 0 0 39 x 1 0 9 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 3",
	} {
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		if s, err := proc.New(root).Scheduling(7, 8); err == nil {
			t.Errorf("%q read as %+v", bad, s)
		}
	}
}

func TestSchedulingOfThisThread(t *testing.T) {
	runtime.LockOSThread() // not unlocked: its niceness cannot be taken back
	if err := unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), 7); err != nil {
		t.Fatal(err)
	}
	if s, err := proc.New("").Scheduling(os.Getpid(), unix.Gettid()); err != nil || s.Nice != 7 {
		t.Errorf("%+v, %v; want nice 7", s, err)
	}
}
