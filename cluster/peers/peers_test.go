package peers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/agentsocket"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/node"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/event"
)

// away is a fleet that does not answer.
type away struct{ closed bool }

var errAway = errors.New("it is away")

func (*away) Push(context.Context, *wire.Push) (a wire.Answer, err error) { return a, errAway }
func (*away) Poll(context.Context, wire.Poll) (a wire.Answer, err error)  { return a, errAway }
func (*away) Reachable() bool                                             { return false }
func (*away) Polls() bool                                                 { return true }
func (f *away) Close()                                                    { f.closed = true }

// exported notes what is exported.
type exported struct{ events []string }

func (e *exported) Event(ev *wire.Event, text string)      { e.events = append(e.events, ev.Type+": "+text) }
func (e *exported) States(_ time.Time, _ []wire.RankState) {}

// An event goes to the terminal, to the recording, to other programs and to who asks what the ranks are.
func TestWhereEventsGo(t *testing.T) {
	var shown []string
	fleet, to, socket := &away{}, &exported{}, filepath.Join(t.TempDir(), "status.sock")
	p := Open(t.Context(), Options{
		Node: "gpu-05", Cluster: "east", Fleet: fleet, Exporter: to, Status: agentsocket.Options{Path: socket},
		Shown: func(e *wire.Event, who string) { shown = append(shown, e.Line(who)) },
		Name:  func(uint32) string { return "trainer" }, Logger: slog.New(slog.DiscardHandler),
	})
	said := node.Said{
		Verdict: health.Verdict{
			Kind: health.KindStraggler, Cohort: 7, Rank: 3, At: time.Duration(time.Now().UnixNano()), Mode: health.ModeFleet,
			Own: 0.02, Peer: 0.01, Excess: 1,
		},
		PID: 4711, Ranks: 8, ID: "01234567-89ab-8def-8123-456789abcdef",
		Cause: &node.Cause{Class: event.BlockIO, Second: event.BlockIO, PerStep: 0.009},
	}
	p.tell(said)
	status, err := agentsocket.Ask(t.Context(), socket)
	if err != nil || status.Node != "gpu-05" || status.Cluster != "east" || status.Reachable {
		t.Errorf("status: %+v, %v", status, err)
	}
	if e := p.last[said.PID]; e.Type != wire.EventStraggler || e.Cause == nil || e.Cause.Kind != "block_io" {
		t.Errorf("its last event is %+v", e)
	}
	said.Resolved, said.Cause = true, nil
	p.tell(said)
	p.Show()
	for range 2 { // closing twice is no error
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	const slower = "rank 3 of 8 on gpu-05 (trainer, process 4711) is slower"
	if len(shown) != 2 || !strings.HasPrefix(shown[0], slower) {
		t.Errorf("shown: %q", shown)
	}
	if list := p.Recorded(nil); len(list) != 2 || list[0].ID != said.ID || !list[1].Resolved {
		t.Errorf("recorded: %+v", list)
	}
	if got := fmt.Sprint(to.events); len(to.events) != 2 || !strings.Contains(got, slower) ||
		!strings.HasPrefix(to.events[1], wire.EventResolved) {
		t.Errorf("exported: %s", got)
	}
	if !fleet.closed {
		t.Error("the fleet is still connected to")
	}
}
