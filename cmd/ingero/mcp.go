package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/explain/source"
	"github.com/ingero-io/ingero/lib/commands"
	"github.com/ingero-io/ingero/lib/fewlogs"
	"github.com/ingero-io/ingero/serve/mcpserver"
	"github.com/ingero-io/ingero/serve/mcptool"
	"github.com/ingero-io/ingero/serve/webserver"
)

// mcpFlags are the flags of mcp.
type mcpFlags struct {
	db        string
	baselines []string
	http      listenAddress
	audit     string
	fleet     nodeFlags
}

func mcpCommand(c *console) *cobra.Command {
	f := mcpFlags{http: listenAddress{service: mcpService}}
	cmd := &cobra.Command{
		Use:   "mcp [FILE]",
		Short: "Let an AI agent query a recording",
		Long: `Mcp serves a recording to AI agents over the Model Context Protocol: a program like
Claude Code starts it and speaks with it on standard input and output, or reaches it
over HTTPS with --http. Clients can only read. A recording that is still being written
is served as it grows. docs/mcp.md has the set-up of the usual programs.

With --http it uses TLS 1.3. The certificate is generated once and stored in ~/.ingero;
--tls-cert sets another one. A token is needed from --token-file, --token,
$INGERO_MCP_TOKEN or ~/.ingero/mcp-token, unless only this machine can reach the
address.

With --nodes, or nodes in ingero.yaml, the tool query_fleet queries many machines at
once; ingero.yaml says how they are reached.

Each call of a tool is logged as a line of JSON: time, tool, caller, rows, duration,
outcome; no data.`,
		Example: `  ingero mcp --db run.db                            for a program that starts it
  claude mcp add ingero -- ingero mcp --db run.db
  ingero mcp run.db --baseline main.db              why is it slower than on main?
  ingero mcp --http 127.0.0.1:8443                  for programs on this machine
  ingero mcp --http :8443 --token-file token.txt --host gpu-node-01
  sudo ingero trace --mcp 127.0.0.1:8443            while it is being recorded`,
		Args: commands.Arguments(0, 1, "a recording"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(oneRecording(&f.db, args), f.http.check(cmd)); err != nil {
				return err
			}
			return c.mcp(cmd.Context(), &f)
		},
	}
	addDatabase(cmd, &f.db)
	addBaselines(cmd, &f.baselines)
	fl := cmd.Flags()
	fl.StringVar(&f.http.address, "http", "",
		"serve HTTPS at this address (127.0.0.1:8443, or :8443 for other machines too)")
	f.http.addFlags(cmd)
	f.fleet.addNodes(cmd)
	fl.StringVar(&f.audit, "audit", "", "append the log of calls to this file (default standard error)")
	return cmd
}

// mcpMemory is the soft limit of Go memory while serving, in bytes: the collector then works
// harder. Answers to agents are small; computing them may not be.
const mcpMemory = 128 << 20

func (c *console) mcp(ctx context.Context, f *mcpFlags) error {
	path, err := c.toRead(f.db)
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(mcpMemory)
	fl, err := c.nodesClientOf(&f.fleet)
	if err != nil {
		return err
	}
	audit, err := c.openAudit(f.audit)
	if err != nil {
		return err
	}
	defer audit.Close()
	log := fewlogs.New(c.logger(c.err), c.now)
	src := source.New(path)
	defer src.Close() //nolint:errcheck // it was only read
	others, done, err := c.openBaselines(f.baselines)
	if err != nil {
		return err
	}
	defer done()
	server := mcptool.NewServer(src, mcptool.Options{
		Demos:   demos(),
		Version: build().Version, Logger: log, Now: c.now, Nodes: fl, Baselines: others,
	})
	mcpserver.Protect(server, audit, webserver.NewGate(webserver.DefaultLimits()), log)

	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if f.http.address == "" {
		if c.isTerminal(c.in) {
			fmt.Fprintln(c.err, "ingero mcp is meant to be started by an AI agent; it now waits for JSON on standard input. "+
				"See ingero mcp --help")
		}
		return mcpserver.Stdio(ctx, server, c.in, c.out)
	}
	h, err := c.listen(&f.http, log)
	if err != nil {
		return err
	}
	h.describe(c.err, path)
	return mcpserver.Serve(ctx, h.ln, server, h.tls(), h.opts)
}

// logger writes warnings, and all messages when internal errors are debugged.
func (c *console) logger(w io.Writer) *slog.Logger {
	level := slog.LevelWarn
	if c.env(commands.DebugEnv) != "" {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// openAudit opens the audit log. Only its owner may read it.
func (c *console) openAudit(path string) (io.WriteCloser, error) {
	if path == "" {
		return unclosed{c.err}, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of calls: %w; pass another --audit FILE", errors.Unwrap(err))
	}
	return f, nil
}

// unclosed ignores Close, for a stream that is owned elsewhere.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
