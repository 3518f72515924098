package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ingero-io/ingero/echo/store/clickhouse/clickhousetest"
)

// The published proof with the real engine of ClickHouse: eight producers, half of which send everything twice; in the
// middle the server is away.
func TestEightProducersWithClickHouse(t *testing.T) {
	server := clickhousetest.Start(t, t.TempDir())
	e := serve(t, "", "--store", server.URL("echo"))
	produce := func(from, to int) {
		var all sync.WaitGroup
		for rank := range 8 {
			client, ctx := e.client(t)
			all.Go(func() {
				for at := from; at < to; at += 25 {
					for range 1 + rank%2 {
						if _, err := client.Export(ctx, published(rank, at, 25)); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		all.Wait()
	}
	produce(0, 125)
	ready := "http://" + e.at["health"] + "/readyz"
	if code, got := e.http(t, http.MethodGet, ready, nil); code != http.StatusOK {
		t.Errorf("%d %s", code, got)
	}
	server.Kill(t)
	client, ctx := e.client(t)
	if _, err := client.Export(ctx, published(0, 125, 25)); status.Code(err) != codes.Unavailable {
		t.Errorf("while the server is away: %v; want UNAVAILABLE", err)
	}
	if code, got := e.http(t, http.MethodGet, ready, nil); code != http.StatusServiceUnavailable {
		t.Errorf("while the server is away: %d %s", code, got)
	}
	if code, got := e.ask(t, "select count(*) from events"); code < 500 {
		t.Errorf("while the server is away: %d %s", code, got)
	}
	server.Again(t)
	produce(125, 250)
	for sql, want := range map[string]string{
		"SELECT cluster_id, node_id, COUNT(*) AS events\nFROM events\nGROUP BY cluster_id, node_id\nORDER BY node_id;": `{"columns":["cluster_id","node_id","events"],` +
			`"rows":[["demo-cluster","node-a100",1000],["demo-cluster","node-h100",1000]]}`,
		"SELECT COUNT(DISTINCT json_extract_string(attrs_json, '$.causal_chain_id')) AS chains\nFROM events\nWHERE attrs_json LIKE '%causal_chain_id%';": `{"columns":["chains"],"rows":[[80]]}`,
		"SELECT sum(n) AS n, count(*) AS nodes FROM (SELECT node_id, COUNT(*) AS n\nFROM events\nWHERE value_double < 0.40\nGROUP BY node_id)":           `{"columns":["n","nodes"],"rows":[[18,2]]}`,
	} {
		if code, got := e.ask(t, sql); code != http.StatusOK || got != want {
			t.Errorf("%s: %d %s; want %s", sql, code, got, want)
		}
	}
	for sql, want := range map[string]string{
		"delete from point where 1": `403 {"code":"refused"`, "select * from file('/etc/passwd')": `403 {"code":"refused"`,
		"selekt": `400 {"code":"statement"`,
	} {
		code, got := e.ask(t, sql)
		if got := fmt.Sprint(code, " ", got); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s; want %s", sql, got, want)
		}
	}
	if _, got := e.http(t, http.MethodGet, "http://"+e.at["health"]+"/metrics", nil); !strings.Contains(got, `ingero_echo_points_total{what="kept"} 2000`) ||
		!strings.Contains(got, `ingero_echo_points_total{what="duplicate"} 1000`) || !strings.Contains(got, "ingero_echo_store_rows 2000") {
		t.Errorf("metrics:\n%s", got)
	}
	if strings.Contains(e.log.String(), clickhousetest.Password) {
		t.Error("the password is in the log")
	}
}

func TestServeSaysWhatIsWrongWithClickHouse(t *testing.T) {
	server := clickhousetest.Start(t, t.TempDir())
	address := "http://default@" + server.Address + "/echo"
	for name, c := range map[string]struct{ address, password, want string }{
		"away":             {"http://127.0.0.1:1/echo", "", "ClickHouse does not answer at 127.0.0.1:1"},
		"a wrong password": {address, "wrong", `does not let the user "default" in`},
	} {
		var errs strings.Builder
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		code := run(ctx, []string{"serve", "--store", c.address}, io.Discard, &errs, func(name string) string {
			return map[string]string{clickhouseEnv: c.password}[name]
		})
		cancel()
		if code != exitFailure || !strings.Contains(errs.String(), c.want) || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%s: %d: %s; want %s", name, code, &errs, c.want)
		}
	}
}
