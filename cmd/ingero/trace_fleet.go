package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/cluster/agentsocket"
	"github.com/ingero-io/ingero/cluster/eventsocket"
	"github.com/ingero-io/ingero/cluster/fleetclient"
	"github.com/ingero-io/ingero/cluster/peers"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/metrics"
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

func (f *peersFlags) addFlags(cmd *cobra.Command) {
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

// peersOptions say what ranks are compared for.
type peersOptions struct {
	c      *console
	node   string
	log    io.Writer // for messages that are neither results nor progress
	logger *slog.Logger
	shown  func(e *wire.Event, who string)
	otlp   peers.Exporter          // nil: events are not exported
	name   func(pid uint32) string // of a process, empty if it is not known
}

// open begins to compare; nil if that was not asked for.
func (f *peersFlags) open(ctx context.Context, o peersOptions) (*peers.Peers, error) {
	if len(f.fleet) == 0 {
		if f.events != "" || f.cluster != "" && o.otlp == nil || f.tls != (fleetclient.Files{}) || f.group != "" {
			return nil, usage("--events, --cluster and --fleet-… are about a fleet; name it with --fleet HOST:4318")
		}
		return nil, nil
	}
	home := o.c.env("HOME")
	to := peers.Options{
		Node: o.node, Cluster: f.cluster, Address: strings.Join(f.fleet, ","), Shown: o.shown, Exporter: o.otlp, Name: o.name,
		Logger: o.logger, Status: agentsocket.Options{Home: home, Group: f.group},
	}
	client, err := f.client(o.c.env, o.logger)
	if err != nil {
		return nil, err
	}
	to.Fleet = client
	if f.events != "" && f.events != eventsHere {
		to.Status.Path = agentsocket.Beside(f.events)
	}
	if f.events != "" || f.group != "" {
		at := eventsocket.Options{Path: f.events, Home: home, Group: f.group}
		if at.Path == eventsHere {
			at.Path = ""
		}
		if to.Events, err = eventsocket.Listen(at); err != nil {
			client.Close()
			return nil, err
		}
		fmt.Fprintf(o.log, "ingero: events of slow ranks can be read at %s\n", to.Events.Path())
	}
	return peers.Open(ctx, to), nil
}

// peersSink gives the comparison what the agent records.
type peersSink struct{ *peers.Peers }

// Second implements agent.Sink.
func (p peersSink) Second(s *agent.Status) {
	traced := make([]peers.Process, len(s.Processes))
	for i, t := range s.Processes {
		traced[i] = peers.Process{PID: uint32(t.PID), Name: t.Comm}
	}
	p.Peers.Second(s.At, s.Elapsed, traced)
}

// eventLine describes an event of a fleet in one line, however long it is: its end names the cause.
func eventLine(e *wire.Event, who string) string { return report.OneLine("[RANK] " + e.Line(who)) }
