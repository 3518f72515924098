package main

import (
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
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

// Events of slow ranks are sent to --otlp with where this node's tools can be asked.
func TestEventsAreSentOverOTLP(t *testing.T) {
	otlp := &received{text: map[string]string{}}
	server := httptest.NewServer(otlp)
	defer server.Close()
	log := slog.New(slog.DiscardHandler)
	exported, err := (&metricsFlags{otlp: server.URL}).open(t.Context(), sender("gpu-05", "east"), askedAt(":8080", "gpu-05"), log)
	if err != nil {
		t.Fatal(err)
	}
	verdict := health.Verdict{
		Kind: health.KindStraggler, Cohort: 7, Rank: 3, At: time.Duration(time.Now().UnixNano()), Mode: health.ModeFleet,
		Own: 0.02, Peer: 0.01, Excess: 1,
	}
	about := wire.About{Node: "gpu-05", Cluster: "east", ID: "01234567-89ab-8def-8123-456789abcdef", WorldSize: 8, PID: 4711}
	for _, resolved := range []bool{false, true} {
		verdict.Resolved = resolved
		e := wire.NewEvent(verdict, about, &wire.Cause{Kind: "block_io", MS: 9})
		exported.ranks.Event(&e, e.Summary("trainer, process 4711"))
	}
	if err := exported.Close(); err != nil {
		t.Error(err)
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
