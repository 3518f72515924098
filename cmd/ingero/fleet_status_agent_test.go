package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/agentsocket"
	"github.com/ingero-io/ingero/cluster/wire"
)

// statusOf runs "ingero fleet status".
func statusOf(t *testing.T, home string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := &console{
		in: strings.NewReader(""), out: &out, err: &out, now: time.Now,
		env: func(k string) string { return map[string]string{"HOME": home}[k] },
	}
	root := newRoot(c)
	root.SetArgs(append([]string{"fleet", "status"}, args...))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestFleetStatusAsksTheAgent(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "x.sock")
	one, two := int32(1), int32(2)
	status := &wire.AgentStatus{
		Node: "gpu-05", Cluster: "east", Fleet: "fleet-1:4318", Reachable: true, Ranks: []wire.AgentRank{
			{
				PID: 11, Process: "python", Rank: &one, WorldSize: 4, State: "active", Mode: "fleet", OwnMS: 100, PeerMS: 100,
				StepMS: 200, G: 0.4, H: 16, Note: "measured on the host",
			},
			{
				PID: 12, Process: "python", Rank: &two, WorldSize: 4, State: "straggler", Mode: "fleet", OwnMS: 130, PeerMS: 100,
				StepMS: 230, G: 16, H: 16, Event: &wire.Event{
					Type: wire.EventStraggler, Node: "gpu-05", At: time.Now(), Rank: &two, WorldSize: 4,
					Cause: &wire.Cause{Kind: "block_io", MS: 29, Culprit: "the disk"},
				},
			},
			{PID: 13, Process: "serve", Note: "it is the only rank"},
		},
	}
	s, err := agentsocket.Listen(agentsocket.Options{Path: path}, func() *wire.AgentStatus { return status })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := statusOf(t, home, "--agent="+path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"node gpu-05 in east: the fleet fleet-1:4318 answers\n",
		"1 of 4  python 11  200 ms  100 ms    100 ms      +0 %   0 of 16   its peers      active\n",
		"2 of 4  python 12  230 ms  130 ms    100 ms      +30 %  16 of 16  its peers      straggler\n",
		"not compared: serve, process 13: it is the only rank\n",
		"[RANK] rank 2 of 4 on gpu-05 is slower than its peers; cause: block_io, 29 ms a step, the disk\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	if out, err := statusOf(t, home, "--agent="+path, "--slow"); err != nil || strings.Contains(out, "python 11") ||
		!strings.Contains(out, "python 12") {
		t.Errorf("--slow: %s, %v", out, err)
	}
	out, err = statusOf(t, home, "--agent="+path, "--json")
	var got wire.AgentStatus
	if err != nil || json.Unmarshal([]byte(out), &got) != nil || len(got.Ranks) != 3 || got.Ranks[1].Event.Cause.Kind != "block_io" ||
		got.Ranks[2].Note == "" {
		t.Errorf("--json: %s, %v", out, err)
	}
	status.Failing = "rank 2: another node pushes this rank"
	if out, err := statusOf(t, home, "--agent="+path); err != nil ||
		!strings.Contains(out, "answers, but: rank 2: another node pushes this rank") {
		t.Errorf("a rank that is refused: %s, %v", out, err)
	}
	status.Reachable, status.Failing = false, "connection refused"
	if out, err := statusOf(t, home, "--agent="+path); err != nil || !strings.Contains(out, "does not answer: connection refused") {
		t.Errorf("without a fleet: %s, %v", out, err)
	}
}

func TestFleetStatusWithoutAnAgent(t *testing.T) {
	home := t.TempDir()
	for args, want := range map[string]string{
		"--agent=" + filepath.Join(home, "none.sock"): "ingero trace --fleet HOST:4318",
		"--agent --fleet f:4318":                      "not both",
		"--cluster east":                              "--fleet HOST:4318",
	} {
		if out, err := statusOf(t, home, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v", args, out, err)
		}
	}
}
