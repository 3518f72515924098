package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// ran is how a run of this program ended.
type ran struct {
	out, err string
	code     int
}

func runIn(t *testing.T, home string, args ...string) ran {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "ingero", args...)
	cmd.Env = append(os.Environ(), "HOME="+home, "SUDO_UID=", "SUDO_GID=", databaseEnv+"=")
	cmd.Dir = home
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return ran{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// TestTwoCommandsQueryManyNodes serves two recordings, one of them with a fault. It
// asks which node has it and why, first of both, then with one stopped.
func TestTwoCommandsQueryManyNodes(t *testing.T) {
	const token = "INGERO_NODE_TOKEN=0123456789abcdef0123456789abcdef"
	t.Setenv("INGERO_NODE_TOKEN", strings.TrimPrefix(token, "INGERO_NODE_TOKEN="))
	home := t.TempDir()
	faulty, healthy := filepath.Join(home, "a.db"), filepath.Join(home, "b.db")
	if err := writeIncident(faulty, time.Now().Add(-incidentLength)); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("../../investigations/healthy.db")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(healthy, b, 0o600); err != nil {
		t.Fatal(err)
	}
	one, two := serve(t, []string{token}, "dashboard", faulty, "--http", "127.0.0.1:0"),
		serve(t, []string{token}, "dashboard", "--db", healthy, "--http", "127.0.0.1:0")
	nodes := one.host() + "," + two.host()
	known := filepath.Join(home, "nodes.pem")
	if err := os.WriteFile(known, append(one.pem, two.pem...), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(args ...string) ran {
		t.Helper()
		return runIn(t, home, append(args, "--nodes", nodes, "--ca-cert", known)...)
	}

	r := ask("query", "select node, count(*) as n from cuda_events group by node order by n desc")
	if r.code != 0 || !strings.Contains(r.out, "\ntest ") || !strings.Contains(r.out, "\n  2 rows from 2 node(s)\n") {
		t.Errorf("query: %+v", r)
	}
	r = ask("explain")
	if r.code != 0 || !strings.HasPrefix(r.out, "FLEET CAUSAL CHAINS - 1 chain(s) from 2 node(s)\n\n[HIGH] [test] ") ||
		!strings.Contains(r.out, "backup-agent") {
		t.Errorf("explain: %+v", r)
	}
	if r = runIn(t, home, "query", "--nodes", nodes, "select 1"); r.code != 1 ||
		!strings.Contains(r.err, "certificate is not known here") {
		t.Errorf("without the certificates: %+v", r)
	}

	if err := two.end(); err != nil {
		t.Errorf("the end: %v", err)
	}
	r = ask("explain", "--json")
	var e struct {
		Chains []struct{ Node string }
		Failed []struct{ Node string }
	}
	if err := json.Unmarshal([]byte(r.out), &e); err != nil || r.code != exitPartial || len(e.Chains) != 1 ||
		len(e.Failed) != 1 || e.Failed[0].Node != two.host() {
		t.Errorf("with a node down: %v %+v", err, r)
	}
	r = ask("query", "select count(*) as n from cuda_events", "--format", "csv")
	if r.code != exitPartial || !strings.HasPrefix(r.out, "node,n\n1 of 2,") ||
		!strings.Contains(r.err, "no answer from "+two.host()) {
		t.Errorf("with a node down: %+v", r)
	}
	if err := one.end(); err != nil {
		t.Errorf("the end: %v", err)
	}
}

// TestTracerAnswersQueriesOfNodes queries a tracer while it traces, until the recording has
// grown.
func TestTracerAnswersQueriesOfNodes(t *testing.T) {
	kerneltest.Require(t)
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	s := serve(t, []string{"LD_LIBRARY_PATH=" + files.LibDir},
		"trace", "--dashboard", "127.0.0.1:0", "--node", "gpu-node-07", "--db", filepath.Join(home, "run.db"), "--",
		files.Victim, "loop", "--seconds", "30")
	known := filepath.Join(home, "nodes.pem")
	if err := os.WriteFile(known, s.pem, 0o600); err != nil {
		t.Fatal(err)
	}
	var seen []string // calls in the recording, each time there are more
	for deadline := time.Now().Add(20 * time.Second); len(seen) < 2; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the recording does not grow: %q", seen)
		}
		r := runIn(t, home, "query", "--nodes", s.host(), "--ca-cert", known, "--format", "csv",
			"select node, count(*) as n from cuda_events group by node")
		_, n, ok := strings.Cut(r.out, "gpu-node-07,")
		if ok && (len(seen) == 0 || n != seen[len(seen)-1]) {
			seen = append(seen, n)
		}
	}
	if err := s.end(); err != nil {
		t.Errorf("the end: %v", err)
	}
}
