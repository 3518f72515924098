package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/demo"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// recording is what to run, and how to keep the recording.
type recording struct {
	demo.Scenario
	node   string // the machine's name in the recording
	length time.Duration
	rate   int      // calls stored one by one a second
	args   []string // of "victim loop", in addition to the scenario's
	stack  probe.StackPolicy
	clear  bool // there may be no other finding and no unexplained time
	keep   func(dir string, r *demo.Result, path string) error
}

// recordAll makes the named recordings of a list, or all.
func recordAll(dir string, list []recording, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(list, func(c recording) bool { return c.Name == name }) {
			return fmt.Errorf("there is no recording %q", name)
		}
	}
	for i := range list {
		c := &list[i]
		if len(names) > 0 && !slices.Contains(names, c.Name) {
			continue
		}
		if err := c.record(dir); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}

// record runs the program until its explanation is right: a recording must show what Ingero can do,
// even if the machine was busy in some of the runs.
func (c *recording) record(dir string) error {
	const attempts = 6
	temp, err := os.MkdirTemp("", "ingero-record-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	for n := range attempts {
		path := filepath.Join(temp, fmt.Sprintf("%d.db", n))
		r, err := demo.Run(context.Background(), &c.Scenario, demo.Options{
			Length: c.length, Keep: path, Live: true, RawRate: c.rate, Stack: c.stack, Node: c.node,
			Version: "demo", Session: c.anonymous, Args: c.args,
		})
		if err != nil {
			return err
		}
		right := c.right(r)
		fmt.Printf("%-26s right=%-5v %s\n", c.Name, right, r.Report.Verdict)
		if !right {
			tellMore(r.Report)
			continue
		}
		if err := scrub(path, c.node, r.Truth.PID, r.Truth.CulpritPID, r.Truth.PeerPID, r.Truth.ClientPID); err != nil {
			return err
		}
		return c.keep(dir, r, path)
	}
	return fmt.Errorf("not explained right in %d attempts", attempts)
}

func (c *recording) right(r *demo.Result) bool {
	alone := len(r.Report.Chains) <= 1 && len(r.Report.NotExplained) == 0
	return r.Right && (alone || !c.clear)
}

// tellMore prints what a report has besides its verdict.
func tellMore(r *report.Report) {
	for i := 1; i < len(r.Chains); i++ {
		fmt.Printf("%26s also: %s\n", "", r.Chains[i].Summary)
	}
	for _, n := range r.NotExplained {
		fmt.Printf("%26s not explained: %s of %s, %s\n", "", report.Duration(n.LostNS), n.Effect.Op, n.Why)
	}
}

// anonymous removes data that would identify this machine.
func (c *recording) anonymous(s *store.Session) {
	s.Host = c.node
	if parts := strings.SplitN(s.Kernel, ".", 3); len(parts) == 3 {
		s.Kernel = parts[0] + "." + parts[1]
	}
}
