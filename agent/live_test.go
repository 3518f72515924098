package agent_test

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

func TestLiveDiagnosesTheLastSeconds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.db")
	if err := storetest.Build(path, storetest.Load{Calls: 400_000}, sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	reports := make(chan *report.Report, 1)
	l := agent.NewLive(
		func() (store.Reader, error) { return sqlite.OpenReader(path) },
		func(r *report.Report) { reports <- r }, nil)
	defer func() { _ = l.Close() }()
	all, err := sqlite.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	sum, err := all.Summary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.Second(&agent.Status{At: time.Unix(0, int64(sum.Last))})
	r := <-reports
	if r.Events == 0 || r.Events >= sum.Calls {
		t.Errorf("%d of %d calls diagnosed, want those of five of the 20 seconds", r.Events, sum.Calls)
	}
	if d := time.Duration(r.Window.ToNS - r.Window.FromNS); d < 4*time.Second || d > 6*time.Second {
		t.Errorf("the window is %s", d)
	}
}

// A disk may be full, or fail for a while: what cannot be read is tried again, and said once.
func TestLiveTriesAgainToRead(t *testing.T) {
	var said strings.Builder
	opened := make(chan struct{}, 100)
	l := agent.NewLive(
		func() (store.Reader, error) { opened <- struct{}{}; return nil, errors.New("boom") },
		func(*report.Report) { t.Error("a report of nothing") },
		slog.New(slog.NewTextHandler(&said, nil)))
	at := time.Now()
	for range 2 {
		for tried := false; !tried; {
			at = at.Add(time.Second)
			l.Second(&agent.Status{At: at})
			select {
			case <-opened:
				tried = true
			case <-time.After(time.Millisecond):
			}
		}
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if strings.Count(said.String(), "boom") != 1 {
		t.Errorf("the log says %q", said.String())
	}
}

// A call that hangs makes no others, so that soon no window of the live diagnosis holds
// any to compare it with. It is still reported until it returns.
func TestAHangIsReportedUntilTheCallReturns(t *testing.T) {
	const t0, second = 1_700_000_000_000_000_000, 1_000_000_000
	path := filepath.Join(t.TempDir(), "hang.db")
	w, err := sqlite.OpenWriter(path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	wait, _ := event.ByName("cudaStreamSynchronize")
	thread := event.Thread{PID: 1, TID: 1}
	b := store.Batch{}
	for i := range uint64(50) {
		b.Calls = append(b.Calls,
			event.Call{Start: t0 + i*20_000_000, Duration: 1_000_000, Thread: thread, Op: wait.Op, GPU: event.NoGPU})
	}
	for age := uint64(1); age < 10; age++ {
		b.InFlight = []event.InFlight{{
			Start: t0 + second, At: t0 + (1+age)*second, Thread: thread, Op: wait.Op, Doing: event.Blocked, Class: event.Futex,
			Syscall: -1, GPU: event.NoGPU,
		}}
		if err := errors.Join(w.Write(&b), w.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
		b = store.Batch{}
		reports := make(chan *report.Report, 1)
		l := agent.NewLive(
			func() (store.Reader, error) { return sqlite.OpenReader(path) },
			func(r *report.Report) { reports <- r }, nil)
		l.Second(&agent.Status{At: time.Unix(0, int64(t0+(1+age)*second))})
		r := <-reports
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if len(r.InFlight) != 1 || !r.InFlight[0].Hangs || r.InFlight[0].AgeNS != age*second {
			t.Errorf("after %d s: %+v", age, r.InFlight)
		}
	}
}
