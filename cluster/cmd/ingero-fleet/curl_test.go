package main

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/fleetserver"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/internal/servetest"
)

// pushFile has a push of a node with one rank of four, as curl sends it.
func pushFile(t *testing.T, node string, rank int32) string {
	t.Helper()
	r := health.RankPush{Rank: rank, Newest: 9, Interval: 0.5, Sigma: 0.01, Mode: health.ModeFleet, State: health.Active}
	for i := range r.X {
		r.X[i] = float32(math.Log(0.2))
	}
	b, err := wire.AppendRequest(nil, &wire.Push{Node: node, Cluster: "c", Health: health.Push{
		Cohort: 7, Node: wire.Node(node), Sent: time.Duration(time.Now().UnixNano()), Size: 4, Width: 1, Merge: 1,
		Ranks: []health.RankPush{r},
	}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "push")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The published headers and GET endpoints, for those who have curl and no agent.
func TestWhatCurlSees(t *testing.T) {
	servetest.NeedCurl(t)
	ctx, stop := context.WithCancel(t.Context())
	var errs servetest.Buffer
	ended := make(chan int, 1)
	env := func(k string) string { return map[string]string{tokenEnv: "secret"}[k] }
	go func() { ended <- run(ctx, []string{"serve", "--listen", "127.0.0.1:0"}, io.Discard, &errs, env) }()
	defer func() {
		stop()
		<-ended
	}()
	url := errs.After(t, " at=")
	ask := func(args ...string) (int, http.Header, string) {
		t.Helper()
		code, header, body, err := servetest.Curl(t, append([]string{"-H", "Authorization: Bearer secret"}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return code, header, body
	}
	for rank := range int32(3) {
		code, header, body := ask("-H", "Content-Type: application/x-protobuf", "--data-binary",
			"@"+pushFile(t, "node-"+string('a'+rank), rank), url+"/v1/metrics?cluster_id=c")
		met := map[bool]string{false: "false", true: "true"}[rank == 2]
		if code != http.StatusOK || body != "" || !strings.HasPrefix(header.Get("X-Ingero-Threshold"), "0.909") ||
			header.Get("X-Ingero-Quorum-Met") != met {
			t.Errorf("push %d: %d %v %q", rank, code, header, body)
		}
		if r, err := wire.ParseReply(header.Get("X-Ingero-Reply")); err != nil || r.Size != 4 || r.Quorum() != (rank == 2) {
			t.Errorf("push %d: %+v %v", rank, r, err)
		}
	}
	code, header, body := ask(url + "/api/v1/threshold?cluster_id=c&cohort=0000000000000007&node=node-a&rank=0&state=active")
	var poll struct {
		Threshold float64 `json:"threshold"`
		Quorum    bool    `json:"quorum_met"`
		Reply     string  `json:"reply"`
	}
	if err := json.Unmarshal([]byte(body), &poll); err != nil || code != http.StatusOK ||
		math.Abs(poll.Threshold-1/1.1) > 1e-9 ||
		!poll.Quorum || poll.Reply == "" || header.Get("X-Ingero-Quorum-Met") != "true" ||
		header.Get("Content-Type") != "application/json" || header.Get("Cache-Control") != "no-store" {
		t.Errorf("poll: %d %v %q %v", code, header, body, err)
	}
	for path, want := range map[string]string{
		wire.PollPath + "?cluster_id=c":    `{"quorum_met":false}`,
		wire.CohortsPath + "?cluster_id=c": `"cluster_id":"c","cohort":"0000000000000007","ranks":4,"live":3`,
		fleetserver.OpenAPIPath:            `"openapi": "3.1.0"`,
	} {
		if code, _, body := ask(url + path); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %q", path, code, body)
		}
	}
	if code, _, body := ask(url + "/api/v1/threshold?node=n&cohort=x"); code != http.StatusBadRequest || !strings.Contains(body, "cohort") {
		t.Errorf("a wrong poll: %d %q", code, body)
	}
	if code, _, _ := ask("-H", "Content-Type: application/json", "--data", "{}", url+"/v1/metrics"); code != http.StatusUnsupportedMediaType {
		t.Errorf("JSON: %d", code)
	}
	code, header, _, err := servetest.Curl(t, url+wire.CohortsPath)
	if err != nil || code != http.StatusUnauthorized || header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("without a token: %d %v %v", code, header, err)
	}
}
