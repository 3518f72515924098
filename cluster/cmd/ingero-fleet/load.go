package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/cluster/load"
)

// loadFlags are the flags of load.
type loadFlags struct {
	options load.Options
	json    bool
}

func loadCommand(out, errs io.Writer, env func(string) string) *cobra.Command {
	var f loadFlags
	cmd := &cobra.Command{
		Use:   "load [flags] -- SERVER [ARGUMENTS]",
		Short: "Measure what the pushes of many nodes cost a server",
		Long: `Load starts a server, pushes to it as the agents of many nodes do, and polls it at a steady rate. It prints
how many pushes were answered with a threshold, how long polls took from the time when they were due,
how much CPU time the server used for a push, and how much memory for a node. Each node pushes every
two seconds; with --every 0, again as soon as it has the answer.

The load runs on the same machine and shares its CPUs with the server. So the number of pushes in a
second depends on the number of CPUs; the CPU time of a push does not. Heap in use is read from the Go
runtime's log of garbage collections, in whole MiB: the server must be a Go program.`,
		Example: `  ingero-fleet load -- ingero-fleet serve --listen 127.0.0.1:14318
  ingero-fleet load --to grpc://127.0.0.1:14317 --nodes 1000 --every 0 -- \
    ingero-fleet serve --listen 127.0.0.1:14318 --grpc 127.0.0.1:14317`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("which server? Write: ingero-fleet load -- ingero-fleet serve --listen 127.0.0.1:14318")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			f.options.Token = env(tokenEnv)
			return f.run(ctx, args, out, errs)
		},
	}
	o := &f.options
	o.Warm = 2 * time.Second
	flags := cmd.Flags()
	flags.StringVar(&o.URL, "to", "http://127.0.0.1:14318", "`URL` that nodes push to: http or grpc")
	flags.StringVar(&o.Polls, "polls", "http://127.0.0.1:14318", "`URL` that is polled, over HTTP")
	flags.IntVar(&o.Nodes, "nodes", 40_000, "how many nodes push")
	flags.IntVar(&o.Ranks, "ranks", 8, "ranks of a node")
	flags.IntVar(&o.Cohort, "cohort", 64, "nodes of a cohort")
	flags.DurationVar(&o.Every, "every", 2*time.Second, "time between two pushes of a node; 0: as often as it is answered")
	flags.IntVar(&o.Connections, "connections", 64, "connections, for all nodes together")
	flags.IntVar(&o.PollRate, "poll-rate", 200, "polls a second")
	flags.DurationVar(&o.For, "for", 20*time.Second, "how long is measured")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

func (f *loadFlags) run(ctx context.Context, command []string, out, errs io.Writer) error {
	server, err := load.StartReady(ctx, command, f.options.Polls, errs)
	if err != nil {
		return err
	}
	defer server.Close()
	f.options.Server = server
	r, err := load.Run(ctx, f.options)
	if err != nil {
		return fmt.Errorf("make the load: %w", err)
	}
	if f.json {
		return json.NewEncoder(out).Encode(r)
	}
	return r.WriteText(out)
}
