package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/cluster/fleetclient"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/lib/commands"
	"github.com/ingero-io/ingero/lib/plain"
)

// fleetCommand has what is asked of a fleet.
func fleetCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Ask which rank of a distributed job the others wait for",
		Long: `A fleet compares the ranks of distributed jobs with their peers. Tracers push to it: "ingero trace
--fleet HOST:4318". It is started with "ingero-fleet serve".`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("there is no command %q; see ingero fleet --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(fleetStatusCommand(c))
	return cmd
}

// fleetStatusFlags are the flags of fleet status.
type fleetStatusFlags struct {
	peers  peersFlags
	agent  string // the path of its socket, empty or agentHere: where it is looked for
	asJSON bool
	watch  bool
	slow   bool
}

// statusEvery is the time between two answers that are watched: that of pushes.
const statusEvery = 2 * time.Second

func fleetStatusCommand(c *console) *cobra.Command {
	var f fleetStatusFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "List the ranks that a fleet, or this node's tracer, knows, and which are slow",
		Long: `With --fleet, status asks a fleet. It lists the ranks that push to it, the own work in a step of each (the
step without its waits in collectives) and in a step of its peers, and its state: calibrating, active, idle,
suspect or straggler.

Without --fleet, it asks the tracer on this machine ("ingero trace --fleet", of the same user, or with sudo).
It also lists the evidence that a rank is slow, the peers that it is compared with, its last event with the
cause, and why a process is not compared.`,
		Example: `  ingero fleet status --fleet fleet-1:4318
  ingero fleet status --fleet fleet-1:4318,fleet-2:4318 --slow --watch
  ingero fleet status --fleet fleet-1:4318 --json | jq '.cohorts[].members[] | select(.state == "straggler")'
  sudo ingero fleet status
  sudo ingero fleet status --json | jq '.ranks[] | {rank, note, event}'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("fleet status takes no arguments; see ingero fleet status --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return c.fleetStatus(ctx, &f)
		},
	}
	f.peers.addConnection(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.agent, "agent", "", "ask the tracer on this machine, or at a socket (--agent=PATH)")
	fl.Lookup("agent").NoOptDefVal = agentHere
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object; with --watch, one a line")
	fl.BoolVar(&f.watch, "watch", false, "ask again every two seconds")
	fl.BoolVar(&f.slow, "slow", false, "list only ranks that are not calibrating, active or idle")
	return cmd
}

func (c *console) fleetStatus(ctx context.Context, f *fleetStatusFlags) error {
	ask := func() error { return c.agentStatus(ctx, f) }
	switch {
	case len(f.peers.fleet) > 0 && f.agent != "":
		return usage("give --fleet to ask a fleet, or --agent to ask a tracer on this machine, not both")
	case len(f.peers.fleet) > 0:
		client, err := f.peers.client(c.env, nil)
		if err != nil {
			return err
		}
		defer client.Close()
		ask = func() error { return c.fleetStatusOnce(ctx, client, f) }
	case f.peers.cluster != "" || f.peers.tls != (fleetclient.Files{}):
		return usage("--cluster and --fleet-… are about a fleet; name it: ingero fleet status --fleet HOST:4318")
	}
	for {
		err := ask()
		if f.watch && ctx.Err() != nil {
			return nil
		}
		if err != nil && !(f.watch && errors.As(err, new(commands.ExitCode))) || !f.watch {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(statusEvery):
		}
	}
}

// fleetStatusOnce asks and prints. If only some of several fleets answer, it says so, and returns exitPartial.
func (c *console) fleetStatusOnce(ctx context.Context, client *fleetclient.Replicas, f *fleetStatusFlags) error {
	list, failed := client.Cohorts(ctx, f.peers.cluster)
	for _, address := range slices.Sorted(maps.Keys(failed)) {
		err := failed[address]
		if e, ok := errors.AsType[*fleetclient.StatusError](err); ok && e.Code == 401 {
			err = fmt.Errorf("%w; set $%s to the fleet's token", err, fleetTokenEnv)
		}
		if list == nil {
			return err
		}
		fmt.Fprintf(c.err, "ingero: warning: %s: %v\n", address, err)
	}
	if err := c.printFleetStatus(list, f); err != nil || len(failed) == 0 {
		return err
	}
	return commands.ExitCode(exitPartial)
}

func (c *console) printFleetStatus(list *wire.CohortList, f *fleetStatusFlags) error {
	if f.slow {
		onlySlow(list)
	}
	if f.asJSON {
		return c.printStatus(f, list)
	}
	c.clearScreen(f)
	return writeCohorts(c.out, list, f.slow)
}

// printStatus prints a status as JSON.
func (c *console) printStatus(f *fleetStatusFlags, v any) error {
	e := json.NewEncoder(plain.JSONWriter{To: c.out})
	if !f.watch {
		e.SetIndent("", "  ")
	}
	return e.Encode(v)
}

// clearScreen makes room for the next table that is watched.
func (c *console) clearScreen(f *fleetStatusFlags) {
	if f.watch && c.isTerminal(c.out) {
		fmt.Fprint(c.out, "\x1b[H\x1b[2J")
	}
}

// onlySlow leaves out ranks that are as they should be.
func onlySlow(l *wire.CohortList) {
	for i := range l.Cohorts {
		c := &l.Cohorts[i]
		slow := c.Members[:0]
		for _, m := range c.Members {
			usual := m.State == "calibrating" || m.State == "active" || m.State == "idle"
			if !usual || m.Hung || m.Missing {
				slow = append(slow, m)
			}
		}
		c.Members = slow
	}
}

// writeCohorts prints a table of ranks.
func writeCohorts(out io.Writer, l *wire.CohortList, slow bool) error {
	var b strings.Builder
	if len(l.Cohorts) == 0 {
		b.WriteString("no rank pushes to this fleet; start tracers before the job: ingero trace --fleet HOST:4318\n")
	}
	for i := range l.Cohorts {
		c := &l.Cohorts[i]
		fmt.Fprintf(&b, "cohort %s", c.Cohort)
		if c.Cluster != "" {
			fmt.Fprintf(&b, " in %s", clean(c.Cluster))
		}
		fmt.Fprintf(&b, ": %d of %d ranks push", c.Live, c.Ranks)
		if c.StepMS > 0 {
			fmt.Fprintf(&b, ", a step takes %.4g ms", c.StepMS)
		}
		if c.Degraded {
			b.WriteString("; many became slower at once")
		}
		if c.Slow {
			b.WriteString("; most are slower than they were")
		}
		b.WriteString("\n")
		if len(c.Members) == 0 && slow {
			b.WriteString("  no rank is slow\n")
			continue
		}
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "  rank\tnode\town work\tits peers'\t\tstate")
		for k := range c.Members {
			m := &c.Members[k]
			own, peer, slower, state := m.Text()
			fmt.Fprintf(w, "  %d\t%s\t%s\t%s\t%s\t%s\n", m.Rank, clean(m.Node), own, peer, slower, clean(state))
		}
		_ = w.Flush() // a Builder takes everything
	}
	if !l.Whole {
		b.WriteString("there are more ranks than a fleet lists; ask for one cluster: --cluster NAME\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}
