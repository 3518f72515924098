package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ingero-io/ingero/cluster/fleetclient"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/internal/servetest"
	"github.com/ingero-io/ingero/lib/crosssite/crosssitetest"
)

// The dashboard that is shipped shows metrics that there are.
func TestTheDashboardIsOfMetricsThatThereAre(t *testing.T) {
	b, err := os.ReadFile("../../../deploy/grafana/ingero-fleet.json")
	if err != nil {
		t.Fatal(err)
	}
	known := ""
	for _, d := range []*prometheus.Desc{
		nodesDesc, ranksDesc, slowDesc, suspects, medianDesc, madDesc, thresholds, coverage, cohortsDesc, requests,
		faultsDesc, refusedDesc,
	} {
		known += d.String()
	}
	names := regexp.MustCompile(`ingero_fleet_\w+`).FindAllString(string(b), -1)
	if len(names) < 8 {
		t.Errorf("only %q", names)
	}
	for _, n := range names {
		if !strings.Contains(known, `"`+n+`"`) {
			t.Errorf("there is no metric %s", n)
		}
	}
}

func TestServeAnswersAgentsWithTheToken(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var errs servetest.Buffer
	ended := make(chan int, 1)
	env := func(k string) string { return map[string]string{tokenEnv: "secret"}[k] }
	go func() { ended <- run(ctx, []string{"serve", "--listen", "127.0.0.1:0"}, io.Discard, &errs, env) }()
	url := errs.After(t, " at=")
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
	if code, body := servetest.Get(t, url+"/healthz"); code != http.StatusOK || body != "ok: 1 ranks in 1 cohorts, 1 pushes\n" {
		t.Errorf("%d, %q", code, body)
	}
	_, body := servetest.Get(t, url+"/metrics")
	for _, want := range []string{
		`ingero_fleet_active_nodes{cluster_id="c"} 1`, `ingero_fleet_active_ranks{cluster_id="c"} 1`,
		`ingero_fleet_straggler_count{cluster_id="c"} 0`, `ingero_fleet_coverage_low{cluster_id="c"} 1`,
		`ingero_fleet_requests_total{what="denied"} 2`, `ingero_fleet_requests_total{what="pushed"} 1`, "ingero_fleet_cohorts 1",
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("%s is not in:\n%s", want, body)
		}
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

// A fleet without a token answers programs on this machine, and no page of another site.
func TestPagesOfOtherSitesAreRefused(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var errs servetest.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"serve", "--listen", "127.0.0.1:0"}, io.Discard, &errs, func(string) string { return "" })
	}()
	address := strings.TrimPrefix(errs.After(t, " at="), "http://")
	crosssitetest.TryAt(t, address, wire.CohortsPath, wire.PollPath, wire.PushPath, "/metrics", "/healthz")
	stop()
	if code := <-ended; code != 0 {
		t.Error(code, errs.String())
	}
}
