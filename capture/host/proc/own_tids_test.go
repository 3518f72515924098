package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestThreadIDsOfANamespaceAreTranslated(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	thread := func(pid, tid int, ids string) {
		t.Helper()
		dir := filepath.Join(root, fmt.Sprint(pid), "task", fmt.Sprint(tid))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if tid == pid {
			dir = filepath.Join(root, fmt.Sprint(pid))
		}
		if err := os.WriteFile(filepath.Join(dir, "status"), []byte("Name:\tx\nNSpid:\t"+ids+"\nVmRSS:\t1 kB\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	thread(100, 100, "100")
	thread(100, 101, "101")
	thread(200, 200, "200\t1")
	thread(200, 207, "207\t7")
	now := time.Unix(1000, 0)
	o := NewOwnTIDs(New(root))
	o.now = func() time.Time { return now }
	for _, x := range []struct{ pid, tid, want uint32 }{
		{100, 101, 101},
		{100, 7, 7}, // on the host what the word says is what it is
		{200, 7, 207},
		{200, 1, 200},
		{200, 8, 0},
		{300, 5, 5}, // of a process that has ended nothing is known
	} {
		if got := o.Host(x.pid, x.tid); got != x.want {
			t.Errorf("thread %d of process %d is %d, want %d", x.tid, x.pid, got, x.want)
		}
	}
	thread(200, 208, "208\t8")
	if got := o.Host(200, 8); got != 0 {
		t.Errorf("its threads were read again at once: %d", got)
	}
	now = now.Add(ownTIDsEach)
	if got := o.Host(200, 8); got != 208 {
		t.Errorf("a new thread is %d", got)
	}
	o.Ended(200, 207)
	if err := os.RemoveAll(filepath.Join(root, "200/task/207")); err != nil {
		t.Fatal(err)
	}
	thread(200, 209, "209\t7")
	now = now.Add(ownTIDsEach)
	if got := o.Host(200, 7); got != 209 {
		t.Errorf("the thread that has the id now is %d", got)
	}
	o.Forget(200)
	thread(200, 200, "200")
	if got := o.Host(200, 7); got != 7 {
		t.Errorf("another process with the pid is taken for the one before: %d", got)
	}
}
