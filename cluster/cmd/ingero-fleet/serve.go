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
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/ingero-io/ingero/cluster/fleetserver"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/lib/crosssite"
	"github.com/ingero-io/ingero/lib/fewlogs"
	"github.com/ingero-io/ingero/lib/smallfile"
)

// tokenEnv names the environment variable with the token that agents must send.
const tokenEnv = "INGERO_FLEET_TOKEN"

// serveFlags are the flags of serve.
type serveFlags struct {
	listen    string
	grpc      string
	cert, key string
	clientCA  string
	insecure  bool
}

const (
	idleTime  = 2 * time.Minute
	maxHeader = 16 << 10 // bytes
	// endTime is how long requests have to end when the server ends.
	endTime = 3 * time.Second
)

func serveCommand(out, errs io.Writer, env func(string) string) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer the agents of a cluster",
		Long: `Serve takes what agents push ("ingero trace --fleet"), and answers with what they compare their
ranks with. What it says itself, of whole jobs and of nodes that fall silent, is printed as lines of
JSON. It keeps nothing on disk, and needs nothing from before a restart: agents repeat it.

On another address than loopback it needs a certificate, and a token in $` + tokenEnv + `, which
agents have in the same variable; --insecure does without, in a network that you trust.`,
		Example: `  ingero-fleet serve
  ` + tokenEnv + `=… ingero-fleet serve --listen :4318 --cert fleet.pem --key fleet.key
  ingero-fleet serve --listen :4318 --cert fleet.pem --key fleet.key --client-ca nodes.pem`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("serve takes no arguments; see ingero-fleet serve --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return f.serve(ctx, out, errs, env)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:4318", "`address` to listen at for HTTP")
	flags.StringVar(&f.grpc, "grpc", "", "`address` to listen at for gRPC, too (:4317)")
	flags.StringVar(&f.cert, "cert", "", "`FILE` of the server's certificate (PEM)")
	flags.StringVar(&f.key, "key", "", "`FILE` of its key (PEM)")
	flags.StringVar(&f.clientCA, "client-ca", "",
		"`FILE` of the certificates that sign those of agents: others are refused")
	flags.BoolVar(&f.insecure, "insecure", false, "listen without certificate or token on any address")
	return cmd
}

func (f *serveFlags) serve(ctx context.Context, out, errs io.Writer, env func(string) string) error {
	conf, err := f.tls()
	if err != nil {
		return err
	}
	token := env(tokenEnv)
	if err := f.safe(conf != nil, token != "" || f.clientCA != ""); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(errs, nil))
	few := fewlogs.New(log, time.Now) // of what agents send
	fleet := fleetserver.New(fleetserver.Options{
		Token: token, Logger: few, Told: func(t fleetserver.Told) { print(out, few, t) },
	})
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 2)
	var all sync.WaitGroup
	defer all.Wait()
	open := token == "" && f.clientCA == ""
	if err := f.overHTTP(ctx, fleet, conf, open, log, &all, failed); err != nil {
		stop()
		return err
	}
	if f.grpc != "" {
		if err := f.overGRPC(ctx, fleet, conf, log, &all, failed); err != nil {
			stop()
			return err
		}
	}
	all.Go(func() { fleet.Run(ctx) })
	select {
	case <-ctx.Done():
		return nil
	case err = <-failed:
		stop()
		return fmt.Errorf("answer agents: %w", err)
	}
}

// safe refuses addresses at which others could read what agents send, or push.
func (f *serveFlags) safe(secure, known bool) error {
	for _, at := range []string{f.listen, f.grpc} {
		switch {
		case at == "" || f.insecure || loopback(at):
		case !secure:
			return usage("on %s agents would be answered without TLS; give --cert and --key, or --insecure", at)
		case !known:
			return usage("on %s anybody could push; set $%s or give --client-ca, or --insecure", at, tokenEnv)
		}
	}
	return nil
}

// overHTTP answers until ctx ends. open: no token and no certificate is asked for.
func (f *serveFlags) overHTTP(ctx context.Context, fleet *fleetserver.Server, conf *tls.Config, open bool,
	log *slog.Logger, all *sync.WaitGroup, failed chan<- error,
) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("listen for agents: %w", err)
	}
	scheme := "http"
	if conf != nil {
		l, scheme = tls.NewListener(l, conf), "https"
	}
	h := &http.Server{
		Handler:           crosssite.Handler(withHealth(fleet), open && loopback(f.listen)),
		ReadHeaderTimeout: endTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(fewlogs.New(log, time.Now).Handler(), slog.LevelDebug),
	}
	log.Info("agents are answered", "at", scheme+"://"+l.Addr().String())
	all.Go(func() {
		if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	})
	all.Go(func() {
		<-ctx.Done()
		end, cancel := context.WithTimeout(context.Background(), endTime)
		defer cancel()
		if h.Shutdown(end) != nil { // agents send what is cut off again
			_ = h.Close()
		}
	})
	return nil
}

// overGRPC answers until ctx ends.
func (f *serveFlags) overGRPC(ctx context.Context, fleet *fleetserver.Server, conf *tls.Config, log *slog.Logger,
	all *sync.WaitGroup, failed chan<- error,
) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.grpc)
	if err != nil {
		return fmt.Errorf("listen for agents: %w", err)
	}
	var o []grpc.ServerOption
	scheme := "grpc"
	if conf != nil {
		o, scheme = append(o, grpc.Creds(credentials.NewTLS(conf))), "grpcs"
	}
	g := fleet.GRPC(o...)
	log.Info("agents are answered", "at", scheme+"://"+l.Addr().String())
	all.Go(func() {
		if err := g.Serve(l); err != nil {
			failed <- err
		}
	})
	all.Go(func() {
		<-ctx.Done()
		g.Stop()
	})
	return nil
}

// withHealth adds what a load balancer and Prometheus ask. They need no token: they learn no more than how
// many there are.
func withHealth(fleet *fleetserver.Server) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		c := fleet.Counts()
		fmt.Fprintf(w, "ok: %d ranks in %d cohorts, %d pushes\n", c.Ranks, c.Cohorts, c.Pushes)
	})
	mux.Handle("GET /metrics", metricsHandler(fleet))
	mux.Handle("/", fleet.Handler())
	return mux
}

// print prints a verdict as an event.
func print(out io.Writer, log *slog.Logger, t fleetserver.Told) {
	e := wire.NewEvent(t.Verdict, wire.About{Node: t.NodeName, Cluster: t.ClusterName}, nil)
	line, err := wire.AppendEvent(nil, &e)
	if err == nil {
		_, err = out.Write(line)
	}
	if err != nil {
		log.Warn("a verdict cannot be printed", "err", err)
	}
}

// tls is the configuration for TLS, nil without a certificate.
func (f *serveFlags) tls() (*tls.Config, error) {
	if f.cert == "" && f.key == "" && f.clientCA == "" {
		return nil, nil
	}
	if f.cert == "" || f.key == "" {
		return nil, usage("--cert and --key belong together, and --client-ca needs them")
	}
	pair, err := smallfile.KeyPair(f.cert, f.key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate %s with the key %s: %w", f.cert, f.key, err)
	}
	c := &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"},
	}
	if f.clientCA == "" {
		return c, nil
	}
	pem, err := smallfile.Read(f.clientCA)
	if err != nil {
		return nil, fmt.Errorf("read the certificates for agents: %w", err)
	}
	c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate", f.clientCA)
	}
	return c, nil
}

// loopback reports whether only programs on this machine can reach an address.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip, ipErr := netip.ParseAddr(host)
	return err == nil && (host == "localhost" || ipErr == nil && ip.IsLoopback())
}
