package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ingero-io/ingero/cluster/agentsocket"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/explain/report"
)

// agentHere is the value of --agent without a path.
const agentHere = "default"

// agentStatus asks the tracer on this machine, and prints what it says.
func (c *console) agentStatus(ctx context.Context, f *fleetStatusFlags) error {
	s, err := c.askAgent(ctx, f.agent)
	if err != nil {
		return err
	}
	if f.slow {
		slow := s.Ranks[:0]
		for _, r := range s.Ranks {
			if r.State == "suspect" || r.State == "straggler" || r.Event != nil && !r.Event.Resolved {
				slow = append(slow, r)
			}
		}
		s.Ranks = slow
	}
	if f.asJSON {
		return c.printStatus(f, s)
	}
	c.clearScreen(f)
	return writeAgent(c.out, s, f.slow)
}

// askAgent asks at a socket, or where one is looked for.
func (c *console) askAgent(ctx context.Context, path string) (*wire.AgentStatus, error) {
	paths := agentsocket.Paths(c.env("HOME"))
	if path != "" && path != agentHere {
		paths = []string{path}
	}
	var all []error
	for _, p := range paths {
		s, err := agentsocket.Ask(ctx, p)
		if err == nil {
			return s, nil
		}
		all = append(all, fmt.Errorf("ask the tracer at %s: %w", p, err))
	}
	err := errors.Join(all...)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w; it is another user's: sudo ingero fleet status", err)
	}
	return nil, fmt.Errorf("%w; start one: sudo ingero trace --fleet HOST:4318, or ask a fleet: --fleet HOST:4318", err)
}

// writeAgent prints a table of ranks, then what is not compared and why, and what was said last.
func writeAgent(out io.Writer, s *wire.AgentStatus, slow bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "node %s", clean(s.Node))
	if s.Cluster != "" {
		fmt.Fprintf(&b, " in %s", clean(s.Cluster))
	}
	switch {
	case s.Reachable && s.Failing != "":
		fmt.Fprintf(&b, ": the fleet %s answers, but: %s\n", clean(s.Fleet), clean(s.Failing))
	case s.Reachable:
		fmt.Fprintf(&b, ": the fleet %s answers\n", clean(s.Fleet))
	case s.Failing != "":
		fmt.Fprintf(&b, ": the fleet %s does not answer: %s\n", clean(s.Fleet), clean(s.Failing))
	default:
		fmt.Fprintf(&b, ": nothing was asked of the fleet %s yet\n", clean(s.Fleet))
	}
	writeAgentRanks(&b, s, slow)
	for i := range s.Ranks {
		if r := &s.Ranks[i]; r.Rank == nil {
			fmt.Fprintf(&b, "not compared: %s, process %d: %s\n", clean(r.Process), r.PID, report.OneLine(r.Note))
		}
	}
	for i := range s.Ranks {
		if e := s.Ranks[i].Event; e != nil {
			fmt.Fprintf(&b, "%s %s\n", e.At.Local().Format(time.TimeOnly), eventLine(e, ""))
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func writeAgentRanks(b *strings.Builder, s *wire.AgentStatus, slow bool) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	ranks := 0
	for i := range s.Ranks {
		r := &s.Ranks[i]
		if r.Rank == nil {
			continue
		}
		if ranks++; ranks == 1 {
			fmt.Fprintln(w, "  rank\tprocess\tstep\town work\tits peers'\t\tevidence\tcompared with\tstate")
		}
		own, peer, slower, state := r.Text()
		fmt.Fprintf(w, "  %d of %d\t%s %d\t%.4g ms\t%s\t%s\t%s\t%.0f of %.0f\t%s\t%s\n", *r.Rank, r.WorldSize,
			clean(r.Process), r.PID, r.StepMS, own, peer, slower, r.G, r.H, comparedWith(r.Mode), clean(state))
	}
	_ = w.Flush() // a Builder takes everything
	switch {
	case ranks == 0 && slow:
		b.WriteString("  no rank is slow\n")
	case ranks == 0:
		b.WriteString("  no rank of a distributed job runs here, or none is known yet\n")
	}
}

// comparedWith is a detection mode in words.
func comparedWith(mode string) string {
	switch mode {
	case "fleet":
		return "its peers"
	case "none", "":
		return "nothing yet"
	}
	return "its own past (" + clean(mode) + ")"
}
