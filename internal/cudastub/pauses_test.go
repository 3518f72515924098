package cudastub

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/internal/kerneltest"
)

func TestAProgramThatComesBeforeAllOthersNoticesThatItStoodStill(t *testing.T) {
	if os.Geteuid() != 0 {
		kerneltest.Lacks(t, "SCHED_FIFO needs root")
	}
	files, err := Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p, err := files.WatchPauses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
			time.Sleep(20 * time.Millisecond)
			if err := p.cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	share, err := p.Share()
	if err != nil {
		t.Fatal(err)
	}
	if share < 0.1 || share > 1 { // half of the time, and what passes until it runs at all
		t.Errorf("it stood still for %.3f of the time", share)
	}
}
