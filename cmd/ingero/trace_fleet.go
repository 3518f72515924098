package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/cluster/agentsocket"
	"github.com/ingero-io/ingero/cluster/eventsocket"
	"github.com/ingero-io/ingero/cluster/fleetagent"
	"github.com/ingero-io/ingero/cluster/fleetclient"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/node"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/metrics"
	"github.com/ingero-io/ingero/store"
)

// fleetTokenEnv names the environment variable with the token that a fleet asks for.
const fleetTokenEnv = "INGERO_FLEET_TOKEN"

// eventsHere is the value of --events without a path.
const eventsHere = "default"

// peersFlags say which fleet compares the ranks on this node with their peers.
type peersFlags struct {
	fleet   []string
	cluster string
	tls     fleetclient.Files
	events  string
	group   string
	wait    bool // for a fleet whose name has no address yet
}

func (f *peersFlags) add(cmd *cobra.Command) {
	f.addConnection(cmd)
	fl := cmd.Flags()
	fl.Lookup("fleet").Usage = "compare the ranks on this node with those of other nodes, at this fleet " +
		"(HOST:4318, https://HOST:4318, by gRPC HOST:4317; token in $" + fleetTokenEnv +
		"); with several, each cohort is pushed to one of them"
	fl.Lookup("cluster").Usage = "name of the cluster, the same on all nodes of a fleet"
	fl.StringVar(&f.events, "events", "", "give events of slow ranks to programs that read them at a socket, "+
		eventsocket.System+" or another one (--events=PATH)")
	fl.Lookup("events").NoOptDefVal = eventsHere
	fl.BoolVar(&f.wait, "fleet-wait", false, "begin also if the name of the fleet cannot be resolved yet")
	fl.StringVar(&f.group, "events-group", "", "a group that may read events too")
}

// addConnection adds the flags that say which fleet, and how it is asked.
func (f *peersFlags) addConnection(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringSliceVar(&f.fleet, "fleet", nil,
		"address of the fleet, or of several (HOST:4318, https://HOST:4318; token in $"+fleetTokenEnv+")")
	fl.StringVar(&f.cluster, "cluster", "", "only this cluster")
	fl.StringVar(&f.tls.CA, "fleet-ca", "", "file of the certificates that sign the fleet's (PEM)")
	fl.StringVar(&f.tls.Cert, "fleet-cert", "", "file of this node's certificate for the fleet (PEM)")
	fl.StringVar(&f.tls.Key, "fleet-key", "", "file of its key (PEM)")
}

// client is one of the fleet, or of several.
func (f *peersFlags) client(env func(string) string, log *slog.Logger) (*fleetclient.Replicas, error) {
	var all []fleetclient.Options
	for _, address := range f.fleet {
		to, err := metrics.ParseEndpoint(address)
		if err != nil {
			return nil, usage("--fleet: %w", err)
		}
		all = append(all, fleetclient.Options{URL: to.String(), Token: env(fleetTokenEnv), TLS: f.tls})
	}
	c, err := fleetclient.NewReplicas(log, all...)
	if err != nil {
		return nil, usage("--fleet: %w", err)
	}
	return c, nil
}

// peers compares the ranks on this node with their peers. It is a sink.
type peers struct {
	node   string
	conf   *peersFlags
	client *fleetclient.Replicas
	agent  *fleetagent.Agent
	events *eventsocket.Server // nil: none
	asking *agentsocket.Server // nil: none
	shown  func(e *wire.Event, who string)
	otlp   *metrics.Detections // nil: events are not exported
	why    map[string]bool     // what was said of processes that are not compared
	asked  time.Duration       // when it was looked for last
	name   func(pid uint32) string
	log    *slog.Logger
	stop   context.CancelFunc
	done   chan struct{}
	close  sync.Once

	mu      sync.Mutex // guards the rest
	unshown []shownEvent
	record  []shownEvent          // that are to be recorded
	open    map[string]shownEvent // slow ranks that were reported without a culprit, by id
	last    map[uint32]wire.Event // by process
	traced  []agent.Traced
	causes  liveCauses
}

// shownEvent is an event that is to be shown.
type shownEvent struct {
	event wire.Event
	who   string // the process, empty if it is not known
	pid   uint32
	cause *node.Cause
}

// peersOptions say what ranks are compared for.
type peersOptions struct {
	c      *console
	node   string
	log    io.Writer // for messages that are neither results nor progress
	logger *slog.Logger
	shown  func(e *wire.Event, who string)
	otlp   *metrics.Detections     // nil: events are not exported
	name   func(pid uint32) string // of a process, empty if it is not known
}

// open begins to compare; nil if that was not asked for.
func (f *peersFlags) open(ctx context.Context, o peersOptions) (*peers, error) {
	if len(f.fleet) == 0 {
		if f.events != "" || f.cluster != "" && o.otlp == nil || f.tls != (fleetclient.Files{}) || f.group != "" {
			return nil, usage("--events, --cluster and --fleet-… are about a fleet; name it with --fleet HOST:4318")
		}
		return nil, nil
	}
	p := &peers{
		node: o.node, conf: f, name: o.name, log: o.logger, done: make(chan struct{}), stop: func() {},
		shown: o.shown, otlp: o.otlp, why: map[string]bool{}, open: map[string]shownEvent{}, last: map[uint32]wire.Event{},
	}
	var err error
	if p.client, err = f.client(o.c.env, o.logger); err != nil {
		return nil, err
	}
	if f.events != "" || f.group != "" {
		at := eventsocket.Options{Path: f.events, Home: o.c.env("HOME"), Group: f.group}
		if at.Path == eventsHere {
			at.Path = ""
		}
		if p.events, err = eventsocket.Listen(at); err != nil {
			return nil, err
		}
		fmt.Fprintf(o.log, "ingero: events of slow ranks can be read at %s\n", p.events.Path())
	}
	p.agent = fleetagent.New(fleetagent.Options{
		Node:  node.Options{Name: o.node, Cluster: f.cluster, NoPolls: !p.client.Polls()},
		Fleet: p.client, Told: p.tell, Logger: o.logger,
	})
	p.listenForStatus(o.c.env("HOME"))
	ctx, p.stop = context.WithCancel(ctx)
	go func() {
		defer close(p.done)
		p.agent.Run(ctx)
	}()
	return p, nil
}

// tell takes what began or ended.
func (p *peers) tell(s node.Said) {
	about := wire.About{Node: p.node, Cluster: p.conf.cluster, ID: s.ID, WorldSize: s.Ranks, PID: s.PID, Step: s.Step}
	t := shownEvent{pid: s.PID, cause: s.Cause}
	if name := p.name(s.PID); name != "" {
		t.who = fmt.Sprintf("%s, process %d", clean(name), s.PID)
	}
	slow := !s.Resolved && (s.Kind == health.KindStraggler || s.Kind == health.KindSlowVsSelf)
	p.mu.Lock()
	cause := p.causes.of(s.PID, s.Cause, time.Now())
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
func (p *peers) later(t shownEvent) {
	p.remember(&t)
	p.unshown = append(p.unshown, t)
	if len(p.record) < maxRecord {
		p.record = append(p.record, t)
	}
}

// recorded appends the events that are to be recorded.
func (p *peers) recorded(list []store.RankEvent) []store.RankEvent {
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
func (p *peers) send(t *shownEvent) {
	if p.otlp != nil {
		p.otlp.Event(&t.event, t.event.Summary(t.who))
	}
	if p.events == nil {
		return
	}
	if err := p.events.Send(&t.event); err != nil {
		p.log.Warn("an event cannot be sent", "err", err)
	}
}

// Batch implements agent.Sink.
func (p *peers) Batch(b *store.Batch) { p.agent.Batch(b) }

// Second implements agent.Sink. Events are shown by the goroutine that calls it, as all else.
func (p *peers) Second(s *agent.Status) {
	p.agent.Second(s.At)
	p.states(s.At)
	p.mu.Lock()
	p.traced = slices.Clone(s.Processes)
	p.mu.Unlock()
	p.show()
	if s.Elapsed-p.asked >= whyEvery {
		p.asked = s.Elapsed
		p.unmeasured(s.Processes)
	}
}

// show shows the events that came since it was called last.
func (p *peers) show() {
	p.mu.Lock()
	list := p.unshown
	p.unshown = nil
	p.mu.Unlock()
	for i := range list {
		p.shown(&list[i].event, list[i].who)
	}
}

// states exports what the ranks are, for the spans of suspects.
func (p *peers) states(at time.Time) {
	if p.otlp == nil {
		return
	}
	var list []metrics.RankState
	for _, r := range p.agent.Status(nil).Ranks {
		list = append(list, metrics.RankState{
			Node: p.node, Cluster: p.conf.cluster, Cohort: fmt.Sprintf("%016x", r.Cohort), PID: r.PID, Rank: r.Rank,
			WorldSize: r.Ranks, State: r.State.String(), OwnMS: 1e3 * r.Own, PeerMS: 1e3 * r.Peer, G: r.G,
		})
	}
	p.otlp.States(at, list)
}

const (
	// whyEvery is how often processes are looked for that are not compared. Of the first such time it is
	// known why: a pattern of collectives takes some seconds to be found.
	whyEvery = 30 * time.Second
	// maxWhy bounds how often that is said.
	maxWhy = 20
)

// unmeasured says, once for each process, why it is compared with nobody.
func (p *peers) unmeasured(processes []agent.Traced) {
	pids, names := namesOf(processes)
	status := p.agent.Status(pids)
	for i := range status.Ranks {
		r := &status.Ranks[i]
		said := fmt.Sprint(r.PID, " ", r.Unmeasured())
		if r.Unmeasured() == "" || p.why[said] || len(p.why) >= maxWhy {
			continue
		}
		p.why[said] = true
		p.log.Info("a process is not compared with peers", "process", clean(names[r.PID]), "pid", r.PID,
			"why", r.Unmeasured())
	}
}

// Close ends it. It may be called twice.
func (p *peers) Close() (err error) {
	p.close.Do(func() {
		p.stop()
		<-p.done
		p.client.Close()
		if p.asking != nil {
			err = p.asking.Close()
		}
		if p.events != nil {
			err = errors.Join(err, p.events.Close())
		}
	})
	return err
}

// eventLine describes an event of a fleet in one line, however long it is: its end names the cause.
func eventLine(e *wire.Event, who string) string { return report.OneLine("[RANK] " + e.Line(who)) }
