package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/cluster/eventsocket"
	"github.com/ingero-io/ingero/cluster/fleetagent"
	"github.com/ingero-io/ingero/cluster/fleetclient"
	"github.com/ingero-io/ingero/cluster/node"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/metrics"
	"github.com/ingero-io/ingero/store"
)

// fleetTokenEnv names the environment variable with the token that a fleet asks for.
const fleetTokenEnv = "INGERO_FLEET_TOKEN"

// eventsHere is the value of --events without a path.
const eventsHere = "default"

// peersFlags say which fleet compares the ranks on this node with their peers.
type peersFlags struct {
	fleet   string
	cluster string
	tls     fleetclient.Files
	events  string
	group   string
}

func (f *peersFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.fleet, "fleet", "", "compare the ranks on this node with those of other nodes, by this fleet "+
		"(HOST:4318, https://HOST:4318; token in $"+fleetTokenEnv+")")
	fl.StringVar(&f.cluster, "cluster", "", "name of the cluster, the same on all nodes of a fleet")
	fl.StringVar(&f.tls.CA, "fleet-ca", "", "file of the certificates that sign the fleet's (PEM)")
	fl.StringVar(&f.tls.Cert, "fleet-cert", "", "file of this node's certificate for the fleet (PEM)")
	fl.StringVar(&f.tls.Key, "fleet-key", "", "file of its key (PEM)")
	fl.StringVar(&f.events, "events", "", "give events of slow ranks to programs that read them at a socket, "+
		eventsocket.System+" or another one (--events=PATH)")
	fl.Lookup("events").NoOptDefVal = eventsHere
	fl.StringVar(&f.group, "events-group", "", "a group that may read events too")
}

// client is one of the fleet.
func (f *peersFlags) client(env func(string) string) (*fleetclient.Client, error) {
	to, err := metrics.ParseEndpoint(f.fleet)
	switch {
	case err != nil:
		return nil, usage("--fleet: %w", err)
	case to.GRPC:
		return nil, usage("--fleet %s: a fleet is asked over HTTP only; write HOST:4318", f.fleet)
	}
	c, err := fleetclient.New(fleetclient.Options{URL: to.String(), Token: env(fleetTokenEnv), TLS: f.tls})
	if err != nil {
		return nil, usage("--fleet: %w", err)
	}
	return c, nil
}

// peers compares the ranks on this node with their peers. It is a sink.
type peers struct {
	node   string
	conf   *peersFlags
	client *fleetclient.Client
	agent  *fleetagent.Agent
	events *eventsocket.Server // nil: none
	shown  func(e *wire.Event, who string)
	fs     proc.FS
	log    *slog.Logger
	stop   context.CancelFunc
	done   chan struct{}
	close  sync.Once

	mu   sync.Mutex // guards told
	told []toldEvent
}

// toldEvent is an event that is to be shown.
type toldEvent struct {
	event wire.Event
	who   string // the process, empty if it is not known
}

// open begins to compare; nil if that was not asked for.
func (f *peersFlags) open(ctx context.Context, t *tracing) (*peers, error) {
	if f.fleet == "" {
		if f.events != "" || f.cluster != "" || f.tls != (fleetclient.Files{}) || f.group != "" {
			return nil, usage("--events, --cluster and --fleet-… are about a fleet; name it with --fleet HOST:4318")
		}
		return nil, nil
	}
	p := &peers{
		node: t.node, conf: f, fs: proc.New(""), log: t.opts.Logger, done: make(chan struct{}), stop: func() {},
		shown: t.view.told,
	}
	var err error
	if p.client, err = f.client(t.c.env); err != nil {
		return nil, err
	}
	if f.events != "" || f.group != "" {
		o := eventsocket.Options{Path: f.events, Home: t.c.env("HOME"), Group: f.group}
		if o.Path == eventsHere {
			o.Path = ""
		}
		if p.events, err = eventsocket.Listen(o); err != nil {
			return nil, err
		}
		fmt.Fprintf(t.log, "ingero: events of slow ranks can be read at %s\n", p.events.Path())
	}
	p.agent = fleetagent.New(fleetagent.Options{
		Node: node.Options{Name: t.node, Cluster: f.cluster}, Fleet: p.client, Told: p.tell, Logger: t.opts.Logger,
	})
	ctx, p.stop = context.WithCancel(ctx)
	go func() {
		defer close(p.done)
		p.agent.Run(ctx)
	}()
	return p, nil
}

// tell takes what began or ended.
func (p *peers) tell(s node.Said) {
	e := wire.NewEvent(s.Verdict, wire.About{Node: p.node, Cluster: p.conf.cluster, ID: s.ID, WorldSize: s.Ranks}, nil)
	if p.events != nil {
		if err := p.events.Send(&e); err != nil {
			p.log.Warn("an event cannot be sent", "err", err)
		}
	}
	t := toldEvent{event: e}
	if name, err := p.fs.Comm(int(s.PID), int(s.PID)); err == nil {
		t.who = fmt.Sprintf("%s, process %d", clean(name), s.PID)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, t)
}

// Batch implements agent.Sink.
func (p *peers) Batch(b *store.Batch) { p.agent.Batch(b) }

// Second implements agent.Sink. Events are shown by the goroutine that calls it, as all else.
func (p *peers) Second(s *agent.Status) {
	p.agent.Second(s.At)
	p.mu.Lock()
	list := p.told
	p.told = nil
	p.mu.Unlock()
	for i := range list {
		p.shown(&list[i].event, list[i].who)
	}
}

// Close ends it. It may be called twice.
func (p *peers) Close() (err error) {
	p.close.Do(func() {
		p.stop()
		<-p.done
		p.client.Close()
		if p.events != nil {
			err = errors.Join(err, p.events.Close())
		}
	})
	return err
}

// eventLine describes an event of a fleet in one line.
func eventLine(e *wire.Event, who string) string { return clean("[RANK] " + e.Line(who)) }
