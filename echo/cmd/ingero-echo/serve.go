package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/echo/access"
	"github.com/ingero-io/ingero/echo/cost"
	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/echo/store/duckdb"
	"github.com/ingero-io/ingero/lib/fewlogs"
	"github.com/ingero-io/ingero/lib/smallfile"
	"github.com/ingero-io/ingero/serve/webserver"
)

// tokenEnv names the environment variable with a token that may write and read.
const tokenEnv = "INGERO_ECHO_TOKEN"

// serveFlags are the flags of serve.
type serveFlags struct {
	otlp, otlpHTTP, api, health string
	path, store, cluster        string
	insecure                    bool
	tokens                      string
	cert, key, clientCA         string
	hosts                       []string
	keep                        time.Duration
	keepGiB                     float64
	engineMiB                   int
	rates                       string
	given                       func(name string) bool // whether a flag was
}

// tokenFlag refuses a token on the command line.
type tokenFlag struct{}

func (tokenFlag) Set(string) error {
	return errors.New("others on this machine could read it; set $" + tokenEnv + ", or give --auth-token-file")
}
func (tokenFlag) String() string { return "" }
func (tokenFlag) Type() string   { return "string" }

func serveCommand(errs io.Writer, env func(string) string) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Take metrics, logs and spans over OTLP, and answer questions",
		Long: `Serve takes what OpenTelemetry's exporters and collectors send, and keeps it in one file of DuckDB, in
this process, or in a database of ClickHouse (--store). Questions are answered over MCP at /mcp, and over
HTTP below /api/v1.

On another address than loopback it needs a certificate, and a token in $` + tokenEnv + ` or in a file;
--insecure-no-tls does without the certificate, in a network that you trust.`,
		Example: `  ingero-echo serve
  ` + tokenEnv + `=… ingero-echo serve --otlp-addr :4317 --mcp-addr :8081 --cert echo.pem --key echo.key
  ` + clickhouseEnv + `=… ingero-echo serve --store clickhouse://echo@HOST:9000/echo`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("serve takes no arguments; see ingero-echo serve --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			limit := int64(heap)
			if f.store != "" {
				limit = heapAlone
			}
			keepSmall(env, limit)
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop)   // a second signal ends at once
			signal.Ignore(syscall.SIGXFSZ) // writing beyond a limit on the size of files is an error, as on a full disk
			f.given = cmd.Flags().Changed
			return f.serve(ctx, errs, env)
		},
	}
	f.addFlags(cmd)
	return cmd
}

func (f *serveFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.otlp, "otlp-addr", "127.0.0.1:4317", "`address` to listen at for OTLP over gRPC; empty: none")
	flags.StringVar(&f.otlpHTTP, "otlp-http-addr", "127.0.0.1:4318",
		"`address` to listen at for OTLP over HTTP; empty: none")
	flags.StringVar(&f.api, "mcp-addr", "127.0.0.1:8081", "`address` to answer questions at; empty: none")
	flags.StringVar(&f.health, "health-addr", "127.0.0.1:8080",
		"`address` for /healthz, /readyz and /metrics, without TLS or token; empty: none")
	flags.StringVar(&f.path, "db-path", defaultPath(), "`FILE` to keep everything in")
	flags.StringVar(&f.store, "store", "",
		"`ADDRESS` of a database of ClickHouse to keep everything in, such as clickhouse://HOST:9000/DATABASE or\n"+
			"http://HOST:8123/DATABASE; the password may be in $"+clickhouseEnv)
	flags.StringVar(&f.cluster, "cluster", "",
		"`NAME` of a cluster of ClickHouse's configuration, over which the tables are made")
	flags.BoolVar(&f.insecure, "insecure-no-tls", false, "listen without a certificate on any address")
	flags.StringVar(&f.tokens, "auth-token-file", "",
		"`FILE` of tokens: one a line, and behind it what it may do, write, read, or write,read")
	flags.Var(tokenFlag{}, "auth-token", "")
	flags.Lookup("auth-token").Hidden = true
	flags.StringVar(&f.cert, "cert", "", "`FILE` of the server's certificate (PEM)")
	flags.StringVar(&f.key, "key", "", "`FILE` of its key (PEM)")
	flags.StringVar(&f.clientCA, "client-ca", "",
		"`FILE` of the certificates that sign those of clients: others are refused")
	flags.StringArrayVar(&f.hosts, "host", nil, "`NAME` by which HTTP clients reach this server, besides localhost")
	flags.IntVar(&f.engineMiB, "engine-memory-mib", duckdb.DefaultMemory>>20,
		"`MiB` of memory for DuckDB; more for questions about hundreds of millions of points. The program takes up to\n"+
			"500 MiB besides")
	flags.DurationVar(&f.keep, "keep", 30*24*time.Hour, "delete what came longer ago; 0: never")
	flags.StringVar(&f.rates, "rates", "",
		"`FILE` of what an hour of a GPU costs (JSON); without it an example that comes with the program")
	flags.Float64Var(&f.keepGiB, "keep-gib", 10,
		"delete the oldest when there is more than so many `GiB`; 0: never; with --store never unless it is given")
}

// defaultPath is where the file is if nothing is said.
func defaultPath() string {
	if home, err := os.UserHomeDir(); err == nil && os.Geteuid() != 0 {
		return filepath.Join(home, ".ingero", "echo", "echo.db")
	}
	return "/var/lib/ingero-echo/echo.db"
}

// settings are checked flags.
type settings struct {
	tokens    *access.Tokens
	cert      *tls.Certificate
	clientCAs *x509.CertPool
	retention store.Retention
	rates     cost.Rates
	audit     io.Writer
	logger    *slog.Logger
	few       *slog.Logger // for what clients bring about
}

// check reads the files that flags name, and refuses what is not safe.
func (f *serveFlags) check(errs io.Writer, env func(string) string) (*settings, error) {
	s := &settings{
		tokens: &access.Tokens{}, rates: cost.Example(), audit: errs, logger: slog.New(slog.NewTextHandler(errs, nil)),
	}
	s.few = fewlogs.New(s.logger, time.Now)
	switch {
	case f.keep < 0 || f.keepGiB < 0:
		return nil, usage("--keep and --keep-gib cannot be below 0")
	case f.otlp == "" && f.otlpHTTP == "" && f.api == "":
		return nil, usage("there is nothing to serve: give --otlp-addr, --otlp-http-addr or --mcp-addr")
	}
	if err := f.checkStore(); err != nil {
		return nil, err
	}
	s.retention = store.Retention{Age: f.keep, Bytes: int64(f.keepGiB * (1 << 30))}
	if err := f.readTokens(s.tokens, env); err != nil {
		return nil, err
	}
	if err := f.readCerts(s); err != nil {
		return nil, err
	}
	if err := f.readRates(s); err != nil {
		return nil, err
	}
	for _, at := range []string{f.otlp, f.otlpHTTP, f.api} {
		switch {
		case at == "" || loopback(at):
		case s.cert == nil && !f.insecure:
			return nil, usage("at %s everybody could listen in; give --cert and --key, or --insecure-no-tls", at)
		case !s.tokens.Needed() && s.clientCAs == nil:
			return nil, usage("at %s anybody could write and ask; set $%s, or give --auth-token-file or --client-ca",
				at, tokenEnv)
		}
	}
	return s, nil
}

func (f *serveFlags) readTokens(tokens *access.Tokens, env func(string) string) error {
	if t := env(tokenEnv); t != "" {
		if err := tokens.Add(t, access.Write|access.Read); err != nil {
			return usage("$%s: %w", tokenEnv, err)
		}
	}
	if f.tokens == "" {
		return nil
	}
	b, err := smallfile.Read(f.tokens)
	if err != nil {
		return fmt.Errorf("read the tokens: %w", err)
	}
	if err := tokens.Parse(string(b)); err != nil {
		return fmt.Errorf("read the tokens of %s: %w", f.tokens, err)
	}
	if !tokens.Needed() {
		return fmt.Errorf("%s has no token", f.tokens)
	}
	return nil
}

func (f *serveFlags) readRates(s *settings) error {
	if f.rates == "" {
		return nil
	}
	b, err := smallfile.Read(f.rates)
	if err != nil {
		return fmt.Errorf("read the rates: %w", err)
	}
	if s.rates, err = cost.Parse(b); err != nil {
		return fmt.Errorf("%s: %w", f.rates, err)
	}
	return nil
}

func (f *serveFlags) readCerts(s *settings) error {
	if f.cert == "" && f.key == "" && f.clientCA == "" {
		return nil
	}
	if f.cert == "" || f.key == "" {
		return usage("--cert and --key belong together, and --client-ca needs them")
	}
	c, err := webserver.LoadCert(f.cert, f.key)
	if err != nil {
		return err
	}
	s.cert = &c.TLS
	if f.clientCA == "" {
		return nil
	}
	pem, err := smallfile.Read(f.clientCA)
	if err != nil {
		return fmt.Errorf("read the certificates for clients: %w", err)
	}
	s.clientCAs = x509.NewCertPool()
	if !s.clientCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s has no certificate", f.clientCA)
	}
	return nil
}

// loopback reports whether only programs on this machine can reach an address.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && webserver.Loopback(host)
}
