package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/echo/access"
	"github.com/ingero-io/ingero/echo/api"
	"github.com/ingero-io/ingero/echo/cost"
	"github.com/ingero-io/ingero/echo/demo"
	"github.com/ingero-io/ingero/echo/ingest"
	"github.com/ingero-io/ingero/echo/intake"
	"github.com/ingero-io/ingero/echo/store/duckdb"
	"github.com/ingero-io/ingero/serve/mcpserver"
	"github.com/ingero-io/ingero/serve/webserver"
)

// demoFlags are the flags of demo.
type demoFlags struct {
	api   string
	stdio bool
}

func demoCommand(errs io.Writer) *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Ask a recorded cluster, in which one rank is late",
		Long: `Demo fills a temporary file with what the tracers of two nodes sent in two minutes, as if they ended now:
of eight ranks one is late now and then. It answers questions about it. No GPU and no other program is
needed. When it ends, the file is deleted.`,
		Example: `  ingero-echo demo
  claude mcp add echo-demo -- ingero-echo demo --stdio`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("demo takes no arguments; see ingero-echo demo --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal ends at once
			return f.run(ctx, cmd.InOrStdin(), cmd.OutOrStdout(), errs)
		},
	}
	cmd.Flags().StringVar(&f.api, "mcp-addr", "127.0.0.1:8081", "`address` to answer questions at, of this machine only")
	cmd.Flags().BoolVar(&f.stdio, "stdio", false, "serve MCP on standard input and output instead")
	return cmd
}

func (f *demoFlags) run(ctx context.Context, in io.Reader, out, errs io.Writer) error {
	if !f.stdio && !loopback(f.api) {
		return usage("%s is not an address of this machine only; demo asks for no token", f.api)
	}
	dir, err := os.MkdirTemp("", "ingero-echo-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	logger := slog.New(slog.NewTextHandler(errs, &slog.HandlerOptions{Level: slog.LevelWarn}))
	file, err := duckdb.Open(ctx, filepath.Join(dir, "echo.db"), duckdb.Options{Logger: logger})
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it is deleted
	queue := intake.New(file, intake.Options{})
	defer queue.Close()
	taken := ingest.New(ingest.Options{Queue: queue, Tokens: &access.Tokens{}, Logger: logger}).Handler()
	if err := fill(ctx, taken, time.Now()); err != nil {
		return err
	}
	a := &asked{store: file, tokens: &access.Tokens{}, rates: cost.Example(), audit: errs, logger: logger}
	if f.stdio {
		return mcpserver.Stdio(ctx, a.mcp(a.tools(), webserver.NewGate(api.AtOnce())), in, out)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.api)
	if err != nil {
		return fmt.Errorf("listen for questions: %w", err)
	}
	fmt.Fprintf(out, demoText, l.Addr())
	h, end := a.handler()
	return webserver.Serve(ctx, l, h, nil, webserver.Options{Draining: end, Refuse: api.Refuse, Logger: logger})
}

// demoText is what a newcomer reads.
const demoText = `A recorded cluster, as if it ended now: 8 ranks on 2 nodes, which use a simulated GPU.
Ask what is wrong.

  An AI agent: claude mcp add --transport http echo-demo http://%[1]s/mcp
               and then: "Which rank makes the others wait, and why?"
  Yourself:    curl -s -d '{}' http://%[1]s/api/v1/tools/fleet.cluster.find_stragglers

Ctrl+C ends it, and deletes the file.
`

// fill sends what the cluster sent, as it would arrive over HTTP.
func fill(ctx context.Context, taken http.Handler, now time.Time) error {
	requests, err := demo.Requests(now.Add(-time.Second).UnixNano())
	if err != nil {
		return err
	}
	for _, r := range requests {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.Path, bytes.NewReader(r.Body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/x-protobuf")
		got := response{header: http.Header{}, status: http.StatusOK}
		if taken.ServeHTTP(&got, req); got.status != http.StatusOK {
			return fmt.Errorf("fill the store: %s: %d %s", r.Path, got.status, got.body.String())
		}
	}
	return nil
}

// response keeps an answer.
type response struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *response) Header() http.Header { return r.header }

// Write implements http.ResponseWriter.
func (r *response) Write(b []byte) (int, error) { return r.body.Write(b) }

// WriteHeader implements http.ResponseWriter.
func (r *response) WriteHeader(status int) { r.status = status }
