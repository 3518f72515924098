package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/fleetclient"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// lockedBuffer may be written and read at a time.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestServeAnswersAgentsWithTheToken(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var errs lockedBuffer
	ended := make(chan int, 1)
	env := func(k string) string { return map[string]string{tokenEnv: "secret"}[k] }
	go func() { ended <- run(ctx, []string{"serve", "--listen", "127.0.0.1:0"}, io.Discard, &errs, env) }()
	url := ""
	for range 1000 {
		if _, after, ok := strings.Cut(errs.String(), " at="); ok && strings.Contains(after, "\n") {
			url, _, _ = strings.Cut(after, "\n")
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	p := wire.Push{Node: "n", Cluster: "c", Health: health.Push{
		Cohort: 7, Node: wire.Node("n"), Sent: time.Second, Size: 4, Width: 1, Merge: 1,
		Ranks: []health.RankPush{{Newest: 3, Interval: 0.5, Sigma: 0.01, Mode: health.ModeFleet, State: health.Active}},
	}}
	for token, right := range map[string]bool{"secret": true, "wrong": false, "": false} {
		c, err := fleetclient.New(fleetclient.Options{URL: url, Token: token})
		if err != nil {
			t.Fatalf("%v; %s", err, errs.String())
		}
		a, err := c.Push(t.Context(), &p)
		if right != (err == nil) || right != (a.Reply != nil) {
			t.Errorf("token %q: %+v, %v", token, a, err)
		}
		c.Close()
	}
	r, err := http.Get(url + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if b, err := io.ReadAll(r.Body); err != nil || string(b) != "ok: 1 ranks in 1 cohorts, 1 pushes\n" {
		t.Errorf("%q, %v", b, err)
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}
