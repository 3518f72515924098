package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// noted notes each hook that is called, with the process it is about, if it is about one.
type noted []string

func (n *noted) add(hook string, pid any) { *n = append(*n, fmt.Sprint(hook, " ", pid)) }

// follower has every hook.
func (n *noted) follower() follower {
	hook := func(name string) { *n = append(*n, name) }
	return follower{
		start:     func(*beginning) { hook("start") },
		mapped:    func(m probe.Mapped) { n.add("mapped", m.PID) },
		traced:    func(pid int) { n.add("traced", pid) },
		rescanned: func() { hook("rescanned") },
		life:      func(l *event.Life) { n.add(l.Kind.String(), l.PID) },
		records: func(u *workItem) {
			hook("records")
			for i := range u.records.Calls {
				if s := fmt.Sprint("calls ", u.records.Calls[i].PID); (*n)[len(*n)-1] != s {
					*n = append(*n, s)
				}
			}
		},
		ended: func(ends []event.Life) {
			for pid := range processesOf(ends) {
				n.add("ended", pid)
			}
		},
		turn: func(time.Time) { hook("turn") },
		second: func(s *second) {
			if s.last {
				hook("last")
				return
			}
			hook("second")
		},
		ending: func(*workItem) { hook("ending") },
		stop:   func(*Summary) error { hook("stop"); return nil },
		close:  func() { hook("close") },
	}
}

// Each hook is called of every follower that has it, in the order of the list. An error of one
// does not keep the others from being stopped.
func TestFollowersAreCalledInTheOrderOfTheList(t *testing.T) {
	var list []string
	one, two := errors.New("one"), errors.New("two")
	named := func(name string, err error) follower {
		return follower{
			traced: func(pid int) { list = append(list, fmt.Sprint(name, pid)) },
			stop:   func(*Summary) error { return err },
			close:  func() { list = append(list, name) },
		}
	}
	f := followers{named("a", one), {}, named("b", two)}
	f.start(nil)
	f.traced(7)
	if err := f.stop(nil); !errors.Is(err, one) || !errors.Is(err, two) {
		t.Errorf("stopped with %v", err)
	}
	f.close()
	if got := strings.Join(list, " "); got != "a7 b7 a b" {
		t.Errorf("called: %s", got)
	}
}

// TestAFollowersHooksAreCalledInTheDocumentedOrder holds a run against the comment at follower.
func TestAFollowersHooksAreCalledInTheDocumentedOrder(t *testing.T) {
	kerneltest.Require(t)
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("LD_LIBRARY_PATH", files.LibDir)
	r, err := newRun(Options{
		UID: AnyUser, Backend: probe.Backend(kerneltest.Backend()),
		Command: []string{"sh", "-c", files.Victim + " loop --steps 20 >/dev/null; sleep 1.3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var n noted
	r.followers = append(r.followers, n.follower())
	_, err = r.runLoop(t.Context())
	r.close()
	if err != nil {
		t.Fatal(err)
	}
	called := slices.IndexFunc(n, func(s string) bool { return strings.HasPrefix(s, "calls ") })
	if called < 0 {
		t.Fatalf("no calls: %q", n)
	}
	pid := strings.TrimPrefix(n[called], "calls ")
	first := func(s string) int { return slices.Index(n, s) }
	end := len(n) - 1
	for ; end > 0 && n[end] == "close"; end-- { // it may be called twice
	}
	for _, order := range [][]string{
		{"start", "fork " + pid, "exec " + pid, "calls " + pid, "ended " + pid, "ending"},
		{"exec " + pid, "exit " + pid, "ended " + pid},
		{"start", "mapped " + pid, "calls " + pid},
		{"start", "turn", "second", "ending", "stop", "last", "close"},
	} {
		for i := range order {
			if first(order[i]) < 0 || i > 0 && first(order[i-1]) >= first(order[i]) {
				t.Errorf("%q is not in the order %q", order[i], order)
			}
		}
	}
	for i, s := range n {
		switch {
		case s == "calls "+pid && i > first("ended "+pid):
			t.Errorf("records of process %s after its end", pid)
		case s == "start" && i != 0, s == "last" && i != end, s == "rescanned" && !r.watcher.blind && r.watcher.Dropped() == 0:
			t.Errorf("%s is hook %d of %d", s, i, end)
		case s == "traced "+pid && (i < first("mapped "+pid) || i > called):
			t.Errorf("process %s is traced after its first calls, or before what it mapped", pid)
		case s == "turn" && i > first("ending"):
			t.Error("a turn after the end")
		}
	}
	if t.Failed() {
		t.Logf("called: %q", n)
	}
}
