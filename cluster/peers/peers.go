// Package peers compares the ranks on a node with their peers: it asks the fleet (package fleetagent), says why a slow
// rank is slow with what the live diagnosis found, and gives events to the recording, to readers of a socket, to OTLP
// and to who shows them. It opens no file, and knows no flags.
package peers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ingero-io/ingero/cluster/agentsocket"
	"github.com/ingero-io/ingero/cluster/eventsocket"
	"github.com/ingero-io/ingero/cluster/fleetagent"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/node"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// Fleet is what ranks are compared at.
type Fleet interface {
	fleetagent.Fleet
	// Polls reports whether it can be asked before it answers.
	Polls() bool
	Close()
}

// Exporter sends what is known of ranks to other programs; neither method blocks.
type Exporter interface {
	Event(e *wire.Event, text string)
	States(at time.Time, ranks []wire.RankState)
}

// Process is a traced process.
type Process struct {
	PID  uint32
	Name string
}

// Options of a comparison.
type Options struct {
	Node, Cluster string
	Fleet         Fleet
	Address       string                          // of the fleet, for people
	Events        *eventsocket.Server             // nil: nobody reads events at a socket
	Status        agentsocket.Options             // where "ingero fleet status" asks
	Shown         func(e *wire.Event, who string) // called by Show; who is the process, empty if it is not known
	Exporter      Exporter                        // nil: nothing is exported
	Name          func(pid uint32) string         // of a process, empty if it is not known
	Logger        *slog.Logger
}

// Peers compares the ranks on this node with their peers. Batch, Second and Show are called by one goroutine, the other
// methods by any.
type Peers struct {
	options Options
	agent   *fleetagent.Agent
	asking  *agentsocket.Server // nil: none
	why     map[string]bool     // what was said of processes that are not compared
	asked   time.Duration       // when it was looked for last
	stop    context.CancelFunc
	done    chan struct{}
	close   sync.Once

	mu      sync.Mutex // guards the rest
	unshown []shownEvent
	record  []shownEvent          // that are to be recorded
	open    map[string]shownEvent // slow ranks that were reported without a culprit, by id
	last    map[uint32]wire.Event // by process
	traced  []Process
	causes  liveCauses
}

// shownEvent is an event that is to be shown.
type shownEvent struct {
	event wire.Event
	who   string // the process, empty if it is not known
	pid   uint32
	cause *node.Cause
}

// Open begins to compare. Close ends it, and closes the fleet and the socket for events.
func Open(ctx context.Context, o Options) *Peers {
	p := &Peers{
		options: o, done: make(chan struct{}), why: map[string]bool{}, open: map[string]shownEvent{},
		last: map[uint32]wire.Event{},
	}
	p.agent = fleetagent.New(fleetagent.Options{
		Node:  node.Options{Name: o.Node, Cluster: o.Cluster, NoPolls: !o.Fleet.Polls()},
		Fleet: o.Fleet, Told: p.tell, Logger: o.Logger,
	})
	p.listenForStatus()
	ctx, p.stop = context.WithCancel(ctx)
	go func() {
		defer close(p.done)
		p.agent.Run(ctx)
	}()
	return p
}

// tell takes what began or ended.
func (p *Peers) tell(s node.Said) {
	about := wire.About{
		Node: p.options.Node, Cluster: p.options.Cluster, ID: s.ID, WorldSize: s.Ranks, PID: s.PID, Step: s.Step,
	}
	t := shownEvent{pid: s.PID, cause: s.Cause}
	if name := p.options.Name(s.PID); name != "" {
		t.who = fmt.Sprintf("%s, process %d", report.OneLine(name), s.PID)
	}
	slow := !s.Resolved && (s.Kind == health.KindStraggler || s.Kind == health.KindSlowVsSelf)
	p.mu.Lock()
	cause := p.causes.causeOf(s.PID, s.Cause, time.Now())
	t.event = wire.NewEvent(s.Verdict, about, cause)
	delete(p.open, s.ID)
	if slow && cause != nil && cause.Culprit == "" {
		p.open[s.ID] = t
	}
	p.later(t)
	p.send(&t)
	p.mu.Unlock()
}

// maxRecord is how many events wait to be recorded, should the disk be too slow.
const maxRecord = 1024

// later has an event shown and recorded. mu is held.
func (p *Peers) later(t shownEvent) {
	p.remember(&t)
	p.unshown = append(p.unshown, t)
	if len(p.record) < maxRecord {
		p.record = append(p.record, t)
	}
}

// Recorded appends the events that are to be recorded.
func (p *Peers) Recorded(list []store.RankEvent) []store.RankEvent {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.record {
		list = append(list, rankEventOf(&p.record[i]))
	}
	p.record = p.record[:0]
	return list
}

func rankEventOf(t *shownEvent) store.RankEvent {
	e := &t.event
	out := store.RankEvent{
		At: uint64(e.At.UnixNano()), Type: e.Type, ID: e.ID, PID: t.pid, Rank: health.NoRank, Ranks: e.WorldSize,
		Cohort: e.Cohort, Cluster: e.Cluster, Mode: e.Mode, Resolved: e.Resolved, OwnNS: nanoseconds(e.OwnMS),
		PeerNS: nanoseconds(e.PeerMS), StepNS: nanoseconds(e.StepMS), Summary: e.Summary(t.who),
	}
	if e.Rank != nil {
		out.Rank = *e.Rank
	}
	if e.Since != nil {
		out.Since = uint64(e.Since.UnixNano())
	}
	if c := e.Cause; c != nil {
		out.Cause, out.Culprit, out.CauseNS, out.Explained = c.Kind, c.Culprit, nanoseconds(&c.MS), c.Explained
	}
	return out
}

// nanoseconds is a number of milliseconds, 0 if it is not known.
func nanoseconds(ms *float64) uint64 {
	if ms == nil || *ms <= 0 {
		return 0
	}
	return uint64(*ms * 1e6)
}

// send sends an event to readers of the socket and to the receiver of OTLP; neither blocks. mu is held, so that the
// events of a rank are sent in order.
func (p *Peers) send(t *shownEvent) {
	if p.options.Exporter != nil {
		p.options.Exporter.Event(&t.event, t.event.Summary(t.who))
	}
	if p.options.Events == nil {
		return
	}
	if err := p.options.Events.Send(&t.event); err != nil {
		p.options.Logger.Warn("an event cannot be sent", "err", err)
	}
}

// Batch takes in what was measured.
func (p *Peers) Batch(b *store.Batch) { p.agent.Batch(b) }

// Second is called about once a second, after the batches up to at, with what is traced. elapsed is the time since the
// begin of tracing. Events are shown by the goroutine that calls it.
func (p *Peers) Second(at time.Time, elapsed time.Duration, traced []Process) {
	p.agent.Second(at)
	p.states(at)
	p.mu.Lock()
	p.traced = traced
	p.mu.Unlock()
	p.Show()
	if elapsed-p.asked >= whyEvery {
		p.asked = elapsed
		p.unmeasured(traced)
	}
}

// Show shows the events that came since it was called last.
func (p *Peers) Show() {
	p.mu.Lock()
	list := p.unshown
	p.unshown = nil
	p.mu.Unlock()
	for i := range list {
		p.options.Shown(&list[i].event, list[i].who)
	}
}

// states exports what the ranks are, for the spans of suspects.
func (p *Peers) states(at time.Time) {
	if p.options.Exporter == nil {
		return
	}
	var list []wire.RankState
	for _, r := range p.agent.Status(nil).Ranks {
		list = append(list, wire.RankState{
			Node: p.options.Node, Cluster: p.options.Cluster, Cohort: fmt.Sprintf("%016x", r.Cohort), PID: r.PID, Rank: r.Rank,
			WorldSize: r.Ranks, State: r.State.String(), OwnMS: 1e3 * r.Own, PeerMS: 1e3 * r.Peer, G: r.G,
		})
	}
	p.options.Exporter.States(at, list)
}

const (
	// whyEvery is how often processes are looked for that are not compared. Of the first such time it is
	// known why: a pattern of collectives takes some seconds to be found.
	whyEvery = 30 * time.Second
	// maxWhy bounds how often that is said.
	maxWhy = 20
)

// unmeasured says, once for each process, why it is compared with nobody.
func (p *Peers) unmeasured(processes []Process) {
	pids, names := namesOf(processes)
	status := p.agent.Status(pids)
	for i := range status.Ranks {
		r := &status.Ranks[i]
		said := fmt.Sprint(r.PID, " ", r.Unmeasured())
		if r.Unmeasured() == "" || p.why[said] || len(p.why) >= maxWhy {
			continue
		}
		p.why[said] = true
		p.options.Logger.Info("a process is not compared with peers", "process", report.OneLine(names[r.PID]), "pid", r.PID,
			"why", r.Unmeasured())
	}
}

// Close ends it. It may be called twice.
func (p *Peers) Close() (err error) {
	p.close.Do(func() {
		p.stop()
		<-p.done
		p.options.Fleet.Close()
		if p.asking != nil {
			err = p.asking.Close()
		}
		if p.options.Events != nil {
			err = errors.Join(err, p.options.Events.Close())
		}
	})
	return err
}
