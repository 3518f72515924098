package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/probe"
)

// A program may map libraries as often as it likes: it is looked at once between two drains, and in a second for some
// time at most if that finds nothing new. Others are looked at meanwhile.
func TestAProcessThatMapsAgainAndAgainIsNotLookedAtEachTime(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, pid := range []int{7, 8} {
		dir := filepath.Join(root, fmt.Sprint(pid))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		maps := strings.Repeat("7f0000000000-7f0000001000 r-xp 00000000 08:01 5 /lib/libz.so.1\n", 2000)
		if err := os.WriteFile(filepath.Join(dir, "maps"), []byte(maps), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x := newTargets(nil, nil, proc.New(root), slog.New(slog.DiscardHandler), &Options{UID: AnyUser})
	looked := func() (pids []int) {
		before := slices.Clone(x.mapping.due)
		x.lookAtMapped()
		for _, pid := range before {
			if !slices.Contains(x.mapping.due, pid) {
				pids = append(pids, pid)
			}
		}
		return pids
	}
	for range 1000 {
		x.mapping.addMapping(probe.Mapped{PID: 7})
	}
	x.mapping.addMapping(probe.Mapped{PID: 8})
	if got := looked(); !slices.Equal(got, []int{7, 8}) {
		t.Errorf("looked at %v", got)
	}
	if x.mapping.spent[7] == 0 || len(x.mapping.first) != 0 {
		t.Errorf("of the look is kept %v, due are %v", x.mapping.spent, x.mapping.first)
	}
	x.mapping.spent[7] = lookMost + 1
	x.mapping.addMapping(probe.Mapped{PID: 7})
	x.mapping.addMapping(probe.Mapped{PID: 8})
	if got := looked(); !slices.Equal(got, []int{8}) {
		t.Errorf("when 7 has had its time, looked at %v", got)
	}
	x.mapping.since = time.Now().Add(-time.Second)
	if got := looked(); !slices.Equal(got, []int{7}) {
		t.Errorf("a second later looked at %v", got)
	}
}

// A file system that does not answer keeps nobody from draining: what cannot be said is tried again, and files that are
// attached to stay so.
func TestAFileSystemThatDoesNotAnswerIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "7"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "7", "maps"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x := newTargets(nil, nil, proc.New(root), slog.New(slog.DiscardHandler), &Options{UID: AnyUser})
	self, err := keyOf("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	x.names[self], x.found[self], x.lasting[self.dev] = "/proc/self/exe", true, true
	answer := make(chan struct{})
	x.files.Wait = time.Millisecond
	_, err = limit.Within(&x.files, func() (int, error) { <-answer; return 0, nil }, nil)
	if !errors.Is(err, limit.ErrNoAnswer) {
		t.Fatal(err)
	}
	x.traced[7] = true
	x.mapped(probe.Mapped{PID: 7, Path: "/lib/libcuda.so.1"})
	if x.lookAtMapped(); !slices.Equal(x.mapping.due, []int{7}) {
		t.Errorf("to be looked at are %v", x.mapping.due)
	}
	if any, fresh := x.process(7); !any || fresh {
		t.Errorf("process 7 has libraries: %v, new ones: %v", any, fresh)
	}
	if stays, _ := x.mayStay(self); !stays {
		t.Error("a file that nothing is known of is let go")
	}
	close(answer)
	for end := time.Now().Add(10 * time.Second); x.files.Stuck() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	x.files.Wait = time.Minute
	x.mapping.since = time.Now().Add(-time.Second)
	if x.lookAtMapped(); len(x.mapping.due) != 0 {
		t.Errorf("to be looked at are still %v", x.mapping.due)
	}
	if stays, _ := x.mayStay(self); !stays {
		t.Error("a file that is there is let go")
	}
	x.names[self] = filepath.Join(root, "gone")
	if stays, _ := x.mayStay(self); stays {
		t.Error("a file without a name is kept")
	}
}
