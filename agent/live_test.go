package agent_test

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/report"
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

func TestLiveGivesUpWhereThereIsNothingToRead(t *testing.T) {
	var said strings.Builder
	opened := make(chan struct{})
	l := agent.NewLive(
		func() (store.Reader, error) { close(opened); return nil, errors.New("boom") },
		func(*report.Report) { t.Error("a report of nothing") },
		slog.New(slog.NewTextHandler(&said, nil)))
	l.Second(&agent.Status{At: time.Now()})
	<-opened
	l.Second(&agent.Status{At: time.Now()}) // nobody listens any more; must not block
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(said.String(), "boom") {
		t.Errorf("the log says %q", said.String())
	}
}
