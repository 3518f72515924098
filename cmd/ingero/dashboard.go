package main

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/source"
	"github.com/ingero-io/ingero/lib/commands"
	"github.com/ingero-io/ingero/serve/dashboard"
	"github.com/ingero-io/ingero/serve/mcpserver"
	"github.com/ingero-io/ingero/serve/mcptool"
	"github.com/ingero-io/ingero/serve/nodeapi"
	"github.com/ingero-io/ingero/serve/webserver"
)

// dashboardAddress is the default address of a served recording.
const dashboardAddress = "127.0.0.1:8080"

// dashboardFlags are the flags of dashboard.
type dashboardFlags struct {
	db        string
	baselines []string
	http      listenAddress
}

func dashboardCommand(c *console) *cobra.Command {
	f := dashboardFlags{http: listenAddress{service: nodeService}}
	cmd := &cobra.Command{
		Use:   "dashboard [FILE]",
		Short: "Show a recording in a browser, and serve it to other nodes",
		Long: `Dashboard serves a page that shows a recording: what made the GPU wait, when, and in
which threads. The page needs nothing but this server, so it works without internet.

Over the same address "ingero query --nodes" and "ingero explain --nodes" query the
recording from another machine, and scripts read it: /api/v1/openapi.json describes the
API. AI agents find the tools of "ingero mcp" at /mcp; their calls are logged to standard
error. Clients can only read. A recording that is still being written is served as it
grows.

It uses TLS 1.3. The certificate is generated once and stored in ~/.ingero; --tls-cert
sets another one. Unless only this machine can reach the address, callers need a token,
from --token-file, --token, $INGERO_NODE_TOKEN or ~/.ingero/node-token, or a certificate
that one of --client-ca signed; if both are set, callers need both.
docs/nodes.md has the set-up of several nodes.`,
		Example: `  ingero dashboard run.db                           for a browser on this machine
  ingero dashboard run.db --baseline main.db        what changed between the two?
  ingero dashboard run.db --no-tls                  the same, without a warning about the certificate
  ingero dashboard --http :8080                     for other nodes; they need a token
  ingero dashboard --http :8080 --client-ca ca.pem --tls-cert node.pem --tls-key node.key
  sudo ingero trace --dashboard :8080               while it is being recorded
  ingero query --nodes gpu-node-01:8080,gpu-node-02:8080 "select count(*) from cuda_events"`,
		Args: commands.Arguments(0, 1, "a recording"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(oneRecording(&f.db, args), f.http.check(cmd)); err != nil {
				return err
			}
			return c.dashboard(cmd.Context(), &f)
		},
	}
	addDatabase(cmd, &f.db)
	addBaselines(cmd, &f.baselines)
	cmd.Flags().StringVar(&f.http.address, "http", dashboardAddress,
		"serve at this address (:8080 for other machines too)")
	f.http.addFlags(cmd)
	return cmd
}

func (c *console) dashboard(ctx context.Context, f *dashboardFlags) error {
	path, err := c.toRead(f.db)
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(mcpMemory)
	others, done, err := c.openBaselines(f.baselines)
	if err != nil {
		return err
	}
	defer done()
	l, err := c.listen(&f.http, c.logger(c.err))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	l.describe(c.err, path)
	src := source.New(path)
	defer src.Close() //nolint:errcheck // it was only read
	return c.serveDashboard(ctx, src, others, l, c.err, webserver.DefaultLimits())
}

// serveDashboard answers browsers, nodes and AI agents until ctx ends, as many at a time as the limits say. They may
// compare src with others. Calls of agents' tools are logged to audit.
func (c *console) serveDashboard(ctx context.Context, src recording.Source, others []recording.Source, l *listener,
	audit io.Writer, limits webserver.Limits,
) error {
	host, _ := os.Hostname() // on an error, the recording's own name is used
	gate := webserver.NewGate(limits)
	api := nodeapi.New(src,
		nodeapi.Options{
			Version: build().Version, Node: host, Logger: l.opts.Logger, Now: c.now, Gate: gate, Baselines: others,
		})
	server := mcptool.NewServer(src, mcptool.Options{
		Demos:   demos(),
		Version: build().Version, Logger: l.opts.Logger, Now: c.now, Baselines: others,
	})
	mcpserver.Protect(server, audit, gate, l.opts.Logger)
	agents, end := mcpserver.Mount(server, l.opts.Logger)
	opts := l.opts
	opts.Public, opts.Draining = dashboard.Public, end
	return webserver.Serve(ctx, l.ln, dashboard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == mcpserver.Path {
			agents.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})), l.tls(), opts)
}
