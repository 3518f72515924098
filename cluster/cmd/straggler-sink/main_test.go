package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/eventsocket"
	"github.com/ingero-io/ingero/cluster/sink"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/internal/servetest"
	"github.com/ingero-io/ingero/lib/fewlogs"
)

// start runs a sink and returns its address.
func start(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var errs servetest.Buffer
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, append(args, "--listen", "127.0.0.1:0"), io.Discard, &errs) }()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("exit code %d: %s", code, errs.String())
		}
	})
	url, _, _ := strings.Cut(errs.After(t, " url="), "/metrics")
	return url
}

func TestVersion(t *testing.T) {
	t.Parallel()
	said := regexp.MustCompile(`^straggler-sink \S+ \(commit \S+, go\S.*, linux/\w+\)\n$`)
	for _, arg := range []string{"version", "--version"} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), []string{arg}, &out, &errs); code != 0 || !said.MatchString(out.String()) {
			t.Errorf("%s: %d: %q%s", arg, code, &out, &errs)
		}
	}
}

// has waits until the metrics have lines.
func has(t *testing.T, url string, lines ...string) {
	t.Helper()
	body := ""
	for range 1000 {
		_, body = servetest.Get(t, url+"/metrics")
		missing := false
		for _, l := range lines {
			missing = missing || !strings.Contains(body, l+"\n")
		}
		if !missing {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no lines %q in:\n%s", lines, body)
}

func event(kind, node, id string) *wire.Event {
	return &wire.Event{Type: kind, Node: node, Cluster: "c", At: time.Unix(1700000000, 0), ID: id, Resolved: kind == wire.EventResolved}
}

func TestEventsAreMetrics(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	var sent servetest.Buffer
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Content-Type") != "application/json" {
			w.WriteHeader(http.StatusBadRequest)
		}
		fmt.Fprintf(&sent, "%s\n", bytes.TrimSpace(b))
	}))
	defer hook.Close()
	url := start(t, "--socket-path", path, "--reconnect-delay", "20ms", "--webhook", hook.URL)
	if code, _ := servetest.Get(t, url+"/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("without a tracer it is ready: %d", code)
	}
	if code, _ := servetest.Get(t, url+"/healthz"); code != http.StatusOK {
		t.Errorf("healthz: %d", code)
	}
	tracer, err := eventsocket.Listen(eventsocket.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	has(t, url, "ingero_sink_connected 1")
	// The sink may be connected before the tracer accepts it, which then sends only what is still slow. Once it has got
	// something, it gets all that follows.
	for i, e := range []*wire.Event{
		event(wire.EventStraggler, "a", "1"), event(wire.EventStraggler, "a", "2"), event(wire.EventStraggler, "b", "3"),
		event(wire.EventResolved, "b", "3"),
	} {
		if err := tracer.Send(e); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			has(t, url, `ingero_sink_events_total{type="straggler_state"} 1`)
		}
	}
	has(t, url, `ingero_sink_events_total{type="straggler_state"} 3`, `ingero_sink_events_total{type="straggler_resolved"} 1`,
		`ingero_sink_active_stragglers{cluster_id="c",node_id="a"} 2`, "ingero_sink_last_event_timestamp_seconds 1.7e+09")
	if _, body := servetest.Get(t, url+"/metrics"); strings.Contains(body, `node_id="b"`) {
		t.Errorf("b is slow:\n%s", body)
	}
	for range 1000 {
		if strings.Count(sent.String(), "\n") == 4 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := sent.String(); strings.Count(got, `"type":"straggler_state"`) != 3 || strings.Count(got, "\n") != 4 {
		t.Errorf("the webhook got:\n%s", got)
	}
	if code, _ := servetest.Get(t, url+"/readyz"); code != http.StatusOK {
		t.Errorf("with a tracer it is not ready: %d", code)
	}
	if err := tracer.Close(); err != nil {
		t.Fatal(err)
	}
	has(t, url, "ingero_sink_connected 0", `ingero_sink_active_stragglers{cluster_id="c",node_id="a"} 2`)
	// Another tracer, which does not know of it.
	if tracer, err = eventsocket.Listen(eventsocket.Options{Path: path}); err != nil {
		t.Fatal(err)
	}
	defer tracer.Close()
	for range 1000 {
		if _, body := servetest.Get(t, url+"/metrics"); !strings.Contains(body, "active_stragglers{") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("what is not told again stays")
}

// Lines that are no events, or too long, are counted, and what follows is read.
func TestLinesThatAreNoEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	url := start(t, "--socket-path", path)
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	good, err := wire.AppendEvent(nil, event(wire.EventStraggler, "a", "1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"no event\n", strings.Repeat("x", 3*wire.MaxEvent), "\n", string(good[:20]), string(good[20:])} {
		if _, err := io.WriteString(c, part); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // so that they are read apart
	}
	has(t, url, "ingero_sink_parse_errors_total 2", `ingero_sink_active_stragglers{cluster_id="c",node_id="a"} 1`)
}

// However many lines are no events, the log says it once in a while.
func TestFewLinesAboutLinesThatAreNoEvents(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	few := fewlogs.New(slog.New(slog.NewTextHandler(&b, nil)), func() time.Time { return time.Unix(1, 0) })
	s := &server{flags: &flags{}, few: few, sink: sink.New(10)}
	for i := range 5000 {
		s.takeLine(0, fmt.Appendf(nil, "no event %d", i))
	}
	if n := strings.Count(b.String(), "\n"); n != 1 {
		t.Errorf("%d lines in the log; 1", n)
	}
}
