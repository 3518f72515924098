package e2e_test

import (
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/rig"
	"github.com/ingero-io/ingero/internal/testnet"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// prompt is what the loop sends when it wants no fault (PROMPT_NS of victim/peer.c).
const prompt = 20_000

// echo is a server that sends back what it receives, until the test ends. It has a typical server
// port, which tells which end is the client.
func echo(t *testing.T, w *testnet.Wire) net.Addr {
	t.Helper()
	var l net.Listener
	w.Far(func() (err error) { l, err = net.Listen("tcp4", testnet.FarAddress+":5432"); return err })
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); _, _ = io.Copy(c, c) }() // until the other end hangs up
		}
	}()
	return l.Addr()
}

// A training loop asks a server in each step. If a packet of a question is lost, the wait for the
// answer is longer by the time until the retransmission, and the report says so.
func TestLostPacketsExplainWaitsForTheNetwork(t *testing.T) {
	kerneltest.Require(t)
	passes := false // let a retransmitted packet pass
	w := testnet.New(t, func(data []byte) bool {
		if len(data) != 8 || binary.LittleEndian.Uint64(data) == prompt || passes {
			passes = false
			return false
		}
		passes = true
		return true
	})
	server := echo(t, w).String()
	db := filepath.Join(t.TempDir(), "e2e.db")
	var r *rig.Result
	w.Near(func() (err error) {
		r, err = rig.Run(t.Context(), rig.Options{
			Args: []string{
				"--seconds", "4", "--start-after", "0.5", "--period-ms", "500", "--fault", "peer-far", "--server",
				server,
			},
			Dir: t.TempDir(), DB: db, Node: "node-1", Backend: probe.Backend(kerneltest.Backend()),
		}, nil)
		return err
	})
	c := first(r, "network_wait")
	if c == nil {
		t.Error("no network_wait")
		dump(t, r)
		return
	}
	if int(c.Cause.TID) != r.Truth.TID || c.ExplainedPct < 90 {
		t.Errorf("cause is thread %d, explained %.0f %%; want %d", c.Cause.TID, c.ExplainedPct, r.Truth.TID)
	}
	for _, says := range []string{server, "to which packets were lost", "had to be sent again", "connected to " + server} {
		if !strings.Contains(c.Summary+c.Cause.Detail, says) {
			t.Errorf("%q is said neither in %q nor in %q", says, c.Summary, c.Cause.Detail)
		}
	}
	if diff := float64(c.LostNS) / float64(r.Truth.InjectedNS); diff < 0.9 || diff > 1.1 {
		t.Errorf("%d ns lost, of %d", c.LostNS, r.Truth.InjectedNS)
	}
	again := 0
	for _, x := range r.Input.Connections {
		if x.Op == event.OpTCPRetransmit && x.Endpoint() == server && int(x.PID) == r.Truth.PID {
			again++
		}
	}
	if n := int(r.Truth.FaultCount); n == 0 || again < n || again > 2*n { // late packets may be retransmitted, too
		t.Errorf("%d segments were sent again, %d packets were lost", again, n)
	}
	rows, err := sqlite.Query(t.Context(), db, "select count(*) from net_events where op = 'tcp_retransmit' and comm = "+
		"'trainer' and state = 'established'", store.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if rows.Next(); rows.Values()[0] != int64(again) {
		t.Errorf("net_events has %v", rows.Values())
	}
	if t.Failed() {
		dump(t, r)
	}
}
