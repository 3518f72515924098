package main

import (
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/agentsocket"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/node"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/event"
)

// received is what was posted to a server, by path, and how often.
type received struct {
	mu   sync.Mutex
	text map[string]string
}

// ServeHTTP implements http.Handler.
func (r *received) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	z, err := gzip.NewReader(q.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b, err := io.ReadAll(z)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text[q.URL.Path] += string(b)
}

// An event goes to the terminal, to the recording, to the receiver of OTLP and to who asks what the ranks are.
func TestWhereEventsGo(t *testing.T) {
	otlp := &received{text: map[string]string{}}
	server := httptest.NewServer(otlp)
	defer server.Close()
	home, log := t.TempDir(), slog.New(slog.DiscardHandler)
	exported, err := (&metricsFlags{otlp: server.URL}).open(t.Context(), sender("gpu-05", "east"), askedAt(":8080", "gpu-05"), log)
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	flags := &peersFlags{fleet: []string{"127.0.0.1:1"}, cluster: "east", events: filepath.Join(home, "e.sock")}
	p, err := flags.open(t.Context(), peersOptions{
		c: &console{env: func(string) string { return "" }}, node: "gpu-05", log: io.Discard, logger: log, otlp: exported.ranks,
		shown: func(e *wire.Event, who string) { shown = append(shown, eventLine(e, who)) },
		name:  func(uint32) string { return "trainer" },
	})
	if err != nil {
		t.Fatal(err)
	}
	said := node.Said{
		Verdict: health.Verdict{
			Kind: health.KindStraggler, Cohort: 7, Rank: 3, At: time.Duration(time.Now().UnixNano()), Mode: health.ModeFleet,
			Own: 0.02, Peer: 0.01, Excess: 1,
		},
		PID: 4711, Ranks: 8, ID: "01234567-89ab-8def-8123-456789abcdef",
		Cause: &node.Cause{Class: event.BlockIO, Second: event.BlockIO, PerStep: 0.009},
	}
	p.tell(said)
	status, err := agentsocket.Ask(t.Context(), filepath.Join(home, "e-status.sock"))
	if err != nil || status.Node != "gpu-05" || status.Cluster != "east" || status.Reachable {
		t.Errorf("status: %+v, %v", status, err)
	}
	if e := p.last[said.PID]; e.Type != wire.EventStraggler || e.Cause == nil || e.Cause.Kind != "block_io" {
		t.Errorf("its last event is %+v", e)
	}
	said.Resolved, said.Cause = true, nil
	p.tell(said)
	p.show()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := exported.Close(); err != nil {
		t.Error(err)
	}
	if len(shown) != 2 || !strings.HasPrefix(shown[0], "[RANK] rank 3 of 8 on gpu-05 (trainer, process 4711) is slower") {
		t.Errorf("shown: %q", shown)
	}
	if list := p.recorded(nil); len(list) != 2 || list[0].ID != said.ID || !list[1].Resolved {
		t.Errorf("recorded: %+v", list)
	}
	for path, want := range map[string][]string{
		"/v1/logs": {
			"straggler_state", "straggler_resolved", "rank 3 of 8 on gpu-05 (trainer, process 4711) is slower", "cause.kind",
			"pid", "ingero.node.address", "gpu-05:8080",
		},
		"/v1/traces": {"ingero.detection.straggler", "outcome", "resolved"},
	} {
		for _, text := range want {
			if !strings.Contains(otlp.text[path], text) {
				t.Errorf("%q was not sent to %s", text, path)
			}
		}
	}
	if n := strings.Count(otlp.text["/v1/traces"], "ingero.detection."); n != 1 {
		t.Errorf("%d spans", n)
	}
}
