package agentsocket_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/cluster/agentsocket"
	"github.com/ingero-io/ingero/cluster/wire"
)

func TestAnAgentIsAsked(t *testing.T) {
	path := agentsocket.Beside(filepath.Join(t.TempDir(), "x.sock"))
	if filepath.Base(path) != "x-status.sock" {
		t.Errorf("it is at %s", path)
	}
	rank := int32(3)
	want := &wire.AgentStatus{
		Node: "gpu-05", Cluster: "east", Fleet: "https://f:4318", Reachable: true, Ranks: []wire.AgentRank{
			{
				PID: 7, Process: "python", Rank: &rank, WorldSize: 8, State: "straggler", Mode: "fleet", OwnMS: 2, PeerMS: 1,
				G: 16, H: 16, Event: &wire.Event{Type: wire.EventStraggler, Node: "gpu-05", At: time.Unix(9, 0).UTC(), ID: "a"},
			},
			{PID: 8, Note: "no collective of NCCL was called"},
		},
	}
	s, err := agentsocket.Listen(agentsocket.Options{Path: path}, func() *wire.AgentStatus { return want })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	for range 2 {
		got, err := agentsocket.Ask(t.Context(), path)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%v\n%s", err, d)
		}
	}
	if _, err := agentsocket.Listen(agentsocket.Options{Path: path}, nil); err == nil {
		t.Error("two agents listen there")
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if _, err := agentsocket.Ask(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nobody is there: %v", err)
	}
}

// A program that sends something else at the socket is not an agent.
func TestAnAnswerOfSomethingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("hello\n"))
			_ = c.Close()
		}
	}()
	var wrong *wire.Error
	if s, err := agentsocket.Ask(t.Context(), path); !errors.As(err, &wrong) {
		t.Errorf("%v, %v", s, err)
	}
}
