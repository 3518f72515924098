package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/fleetclient"
	"github.com/ingero-io/ingero/cluster/fleetserver"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/lib/commands"
)

func TestFleetStatusListsTheRanks(t *testing.T) {
	fleet := fleetserver.New(fleetserver.Options{Token: "secret"})
	server := httptest.NewServer(fleet.Handler())
	defer server.Close()
	env := map[string]string{fleetTokenEnv: "secret"}
	ask := func(args ...string) (string, error) {
		var out bytes.Buffer
		c := &console{
			in: strings.NewReader(""), out: &out, err: &out, env: func(k string) string { return env[k] }, now: time.Now,
		}
		root := newRoot(c)
		root.SetArgs(append([]string{"fleet", "status", "--fleet", server.URL}, args...))
		err := root.ExecuteContext(t.Context())
		return out.String(), err
	}
	if out, err := ask(); err != nil || !strings.Contains(out, "no rank pushes") {
		t.Errorf("of an empty fleet: %s, %v", out, err)
	}
	client, err := fleetclient.New(fleetclient.Options{URL: server.URL, Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for rank := range int32(4) {
		name := "gpu-" + string(rune('a'+rank))
		r := health.RankPush{
			Rank: rank, Newest: 5, Interval: 0.2, Own: 0.1, Sigma: 0.01, State: health.Active, Mode: health.ModeFleet,
		}
		for i := range r.X {
			r.X[i] = -2.302585 // 100 ms
		}
		if rank == 2 {
			r.State, r.X[0] = health.Straggler, -2.0402208 // 130 ms
		}
		p := wire.Push{Node: name, Cluster: "east", Health: health.Push{
			Cohort: 7, Node: wire.Node(name), Sent: time.Duration(time.Now().UnixNano()), Size: 4, Width: 1, Merge: 1,
			Ranks: []health.RankPush{r},
		}}
		if _, err := client.Push(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
	}
	out, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"cohort 0000000000000007 in east: 4 of 4 ranks push, a step takes 200 ms",
		"0     gpu-a  100 ms    100 ms      +0 %   active", "2     gpu-c  130 ms    100 ms      +30 %  straggler",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	if out, err := ask("--slow"); err != nil || strings.Contains(out, "gpu-a") || !strings.Contains(out, "gpu-c") {
		t.Errorf("--slow: %s, %v", out, err)
	}
	out, err = ask("--json", "--cluster", "east")
	var l wire.CohortList
	if err != nil || json.Unmarshal([]byte(out), &l) != nil || !l.Whole || len(l.Cohorts) != 1 ||
		len(l.Cohorts[0].Members) != 4 || l.Cohorts[0].Members[2].State != "straggler" || l.Cohorts[0].Members[2].Node != "gpu-c" {
		t.Errorf("--json: %s, %v", out, err)
	}
	if out, err := ask("--json", "--cluster", "west"); err != nil || strings.Contains(out, "gpu-a") {
		t.Errorf("another cluster: %s, %v", out, err)
	}
	// Another fleet has the rest of the cohort, and rank 3 has moved there.
	more := httptest.NewServer(fleetWith(t, "secret", 3, 4))
	defer more.Close()
	out, err = ask("--fleet", more.URL)
	if err != nil || !strings.Contains(out, "5 of 5 ranks push") ||
		strings.Count(out, "gpu-d") != 1 || !strings.Contains(out, "gpu-e") {
		t.Errorf("two fleets: %s, %v", out, err)
	}
	more.Close()
	var code commands.ExitCode
	if out, err := ask("--fleet", more.URL); !errors.As(err, &code) || int(code) != exitPartial || !strings.Contains(out, "gpu-c") ||
		!strings.Contains(out, "warning: "+more.URL) {
		t.Errorf("one of two fleets: %s, %v", out, err)
	}
	env[fleetTokenEnv] = "wrong"
	if out, err := ask(); err == nil || !strings.Contains(err.Error(), fleetTokenEnv) {
		t.Errorf("a wrong token: %s, %v", out, err)
	}
}

// fleetWith is a fleet to which ranks of the same cohort push, each of a node of its own.
func fleetWith(t *testing.T, token string, ranks ...int32) http.Handler {
	fleet := fleetserver.New(fleetserver.Options{Token: token})
	server := httptest.NewServer(fleet.Handler())
	defer server.Close()
	client, err := fleetclient.New(fleetclient.Options{URL: server.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, rank := range ranks {
		name := "gpu-" + string(rune('a'+rank))
		p := wire.Push{Node: name, Cluster: "east", Health: health.Push{
			Cohort: 7, Node: wire.Node(name), Sent: time.Duration(time.Now().UnixNano()), Size: 5, Width: 1, Merge: 1,
			Ranks: []health.RankPush{{Rank: rank, Newest: 5, Interval: 0.2, State: health.Active, Mode: health.ModeFleet}},
		}}
		if _, err := client.Push(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
	}
	return fleet.Handler()
}
