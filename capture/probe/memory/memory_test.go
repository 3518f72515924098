package memory_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/probetest"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

func TestReclaimUnderALimitIsRecorded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "big")
	tr, shell, begin := probetest.AdoptShell(t,
		fmt.Sprintf("exec dd if=/dev/zero of=%s bs=1M count=200 2>/dev/null", file), probe.Options{})
	probetest.Limited(t, 16<<20)(shell.Process.Pid)
	begin()
	pid := uint32(shell.Process.Pid)
	r := probetest.Drained(t, tr, func(r *probe.Records) bool { return len(r.Reclaims) >= 3 })
	for _, v := range r.Reclaims {
		if v.PID != pid || v.Kind != event.ReclaimCgroup || v.NS > v.Duration || v.NS == 0 || v.Parts == 0 {
			t.Errorf("reclaim %+v of process %d", v, pid)
		}
	}
	shell.Wait()
}

// Nobody reads while so many are born and end that their ring fills: those that the
// kernel ends are still reported.
func TestOutOfMemoryKillsAreRecordedWhenTheRingIsFull(t *testing.T) {
	tr, shell, begin := probetest.AdoptShell(t, "for ((i = 0; i < 2200; i++)); do (:); done; exec tail /dev/zero",
		probe.Options{})
	probetest.Limited(t, 64<<20)(shell.Process.Pid) // only tail needs more, also while the others end slowly
	begin()
	pid := uint32(shell.Process.Pid)
	shell.Wait()
	if n, err := tr.Losses(); err != nil || n[event.LostLife] == 0 {
		t.Errorf("%d births and ends were lost, %v: the ring was not full", n[event.LostLife], err)
	}
	var l event.Life
	probetest.Drained(t, tr, func(r *probe.Records) bool {
		for _, v := range r.Lives {
			if v.Kind == event.LifeOOM && v.PID == pid {
				l = v
			}
		}
		return l.At != 0
	})
	if l.Comm != "tail" || l.TID != pid || l.Op.String() != "oom_kill" || l.Parent.PID != pid ||
		time.Since(time.Unix(0, int64(l.At))) > time.Minute {
		t.Errorf("reported as %+v", l)
	}
}

// Memory is moved together on the thread that asks for it.
func TestCompactionIsRecorded(t *testing.T) {
	const all = "/proc/sys/vm/compact_memory"
	if _, err := os.Stat(filepath.Dir(all)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(all); err != nil {
		kerneltest.Lacks(t, "no compaction: "+err.Error())
	}
	tr, shell, begin := probetest.AdoptShell(t, "echo 1 > "+all, probe.Options{})
	begin()
	var r probe.Records
	probetest.Ended(t, tr, shell, "", &r)
	pid := uint32(shell.Process.Pid)
	for _, v := range r.Reclaims {
		if v.PID == pid && v.Kind == event.ReclaimCompaction && v.NS > 0 && v.NS <= v.Duration && v.Parts > 0 {
			return
		}
	}
	t.Errorf("not among %+v", r.Reclaims)
}
