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

	process "github.com/ingero-io/ingero/cluster/load"
	"github.com/ingero-io/ingero/echo/load"
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
		Short: "Measure what the points of many nodes cost a server",
		Long: `Load starts a server of OTLP over gRPC, such as ingero-echo serve, sends it the points of many nodes, asks it
questions meanwhile, and prints how many points were kept, how much CPU time the server used for one, how
much memory it has, and how long answers took. A point counts when the server has answered. Requests
that find no room are sent again, as exporters do.

The load is made on the same machine and shares its CPUs with the server: the CPU time of a point is
the same on any number of CPUs, how many there are in a second is not.`,
		Example: `  ingero-echo load -- ingero-echo serve --db-path /tmp/load.db --mcp-addr 127.0.0.1:18081
  ingero-echo load --points 50000000 --over 24h --then 30s -- ingero-echo serve --db-path /tmp/load.db \
    --mcp-addr 127.0.0.1:18081`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("which server? Write: ingero-echo load -- ingero-echo serve --db-path FILE --mcp-addr " +
					"127.0.0.1:18081")
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
	flags := cmd.Flags()
	flags.StringVar(&o.To, "to", "127.0.0.1:4317", "`HOST:PORT` that nodes send to, by OTLP over gRPC")
	flags.StringVar(&o.Ask, "ask", "http://127.0.0.1:18081", "`URL` of the API that is asked")
	flags.IntVar(&o.Nodes, "nodes", 64, "how many nodes send, over a connection each")
	flags.IntVar(&o.Readers, "readers", 2, "how many ask questions")
	flags.DurationVar(&o.Every, "every", time.Second,
		"time between two questions of a reader; 0: one after the other")
	flags.StringVar(&o.Window, "window", "", "`WINDOW` that tools are asked about, such as 5m (default theirs)")
	flags.Float64Var(&o.Rate, "rate", 0, "points a second, of all nodes together; 0: as many as are taken")
	flags.DurationVar(&o.For, "for", 20*time.Second, "how long points are sent")
	flags.Int64Var(&o.Points, "points", 0, "how many points are sent at most; 0: any number")
	flags.DurationVar(&o.Over, "over", 0, "time up to now over which the points are spread, with --points")
	flags.DurationVar(&o.Then, "then", 0, "how long readers ask when all points are sent")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

func (f *loadFlags) run(ctx context.Context, command []string, out, errs io.Writer) error {
	server, err := process.StartReady(ctx, command, "http://"+f.options.To, errs) // that it listens is enough
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
