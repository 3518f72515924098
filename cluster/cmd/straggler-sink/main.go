// Command straggler-sink reads the events of slow ranks at the sockets of tracers, and serves them as metrics
// to Prometheus.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/cluster/eventsocket"
	"github.com/ingero-io/ingero/cluster/sink"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/lib/commands"
	"github.com/ingero-io/ingero/lib/crosssite"
	"github.com/ingero-io/ingero/lib/fewlogs"
	"github.com/ingero-io/ingero/lib/plain"
)

// version and commit are set by the linker (see the Makefile).
var version, commit = commands.Unset, ""

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// flags are those of the command.
type flags struct {
	sockets  []string
	listen   string
	delay    time.Duration
	maxNodes int
	window   time.Duration
	webhook  string
}

// run executes a command line and returns the exit code.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	var f flags
	cmd := &cobra.Command{
		Use:   "straggler-sink",
		Short: "Serve the events of slow ranks as metrics",
		Long: `Straggler-sink reads the events that tracers send at their sockets ("ingero trace --fleet … --events"), and
serves Prometheus metrics of them at /metrics: events by type, and which nodes have slow ranks now. /healthz
answers while it runs, /readyz while it receives from a tracer. With --webhook it also sends each event
there, unchanged (POST).`,
		Example: `  straggler-sink
  straggler-sink --socket-path /run/ingero/straggler.sock --listen :9464
  straggler-sink --webhook https://alerts.example/ingero`,
		SilenceUsage: true, SilenceErrors: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), errs) },
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.sockets, "socket-path", []string{eventsocket.System}, "sockets to read")
	fl.StringVar(&f.listen, "listen", ":9464", "address to serve metrics at")
	fl.DurationVar(&f.delay, "reconnect-delay", 2*time.Second, "pause before a socket is connected to again")
	fl.IntVar(&f.maxNodes, "max-tracked-nodes", 10_000, "most nodes that have metrics of their own")
	fl.DurationVar(&f.window, "readiness-window", time.Minute,
		"without a connection, it is ready for this long after the newest event")
	fl.StringVar(&f.webhook, "webhook", "", "URL that each event is sent to")
	cmd.SetOut(out)
	cmd.SetErr(errs)
	commands.Add(cmd, commands.Of(version, commit), func(err error) error { return err })
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(errs, "straggler-sink: %s\n", plain.Lines(err.Error()))
		return 1
	}
	return 0
}

// server has the sink and who uses it.
type server struct {
	flags *flags
	log   *slog.Logger
	few   *slog.Logger // of what is read, and what the webhook answers
	hooks chan []byte  // lines for the webhook

	mu        sync.Mutex // guards the rest
	sink      *sink.Sink
	connected map[int]bool
	unsent    uint64 // lines that the webhook did not take
}

func (f *flags) run(ctx context.Context, errs io.Writer) error {
	if f.delay <= 0 || f.maxNodes < 1 || len(f.sockets) == 0 {
		return errors.New("--reconnect-delay and --max-tracked-nodes must be more than 0, and there must be a --socket-path")
	}
	log := slog.New(slog.NewTextHandler(errs, nil))
	s := &server{
		flags: f, log: log, few: fewlogs.New(log, time.Now), hooks: make(chan []byte, 256), sink: sink.New(f.maxNodes),
		connected: map[int]bool{},
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("serve metrics: %w", err)
	}
	h := &http.Server{
		Handler:           crosssite.Handler(s.handler(), crosssite.Loopback(crosssite.Hostname(l.Addr().String()))),
		ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, WriteTimeout: 30 * time.Second,
	}
	s.log.Info("metrics are served", "url", fmt.Sprintf("http://%s/metrics", l.Addr()))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	for i, path := range f.sockets {
		all.Go(func() { s.readEvents(ctx, i, path) })
	}
	all.Go(func() { s.tick(ctx) })
	if f.webhook != "" {
		all.Go(func() { s.call(ctx) })
	}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(l) }()
	select {
	case err = <-failed:
		stop()
	case <-ctx.Done():
		end, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err = h.Shutdown(end)
	}
	all.Wait()
	return err
}

// readEvents reads a socket until ctx ends, and connects again when it has to.
func (s *server) readEvents(ctx context.Context, source int, path string) {
	for said := false; ; {
		c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		if err == nil {
			said = false
			s.log.Info("connected", "socket", path)
			s.connection(source, true)
			err = s.lines(ctx, source, c)
			s.connection(source, false)
		}
		if ctx.Err() != nil {
			return
		}
		if !said {
			s.log.Warn("no connection to a tracer; trying again", "socket", path, "every", s.flags.delay, "err", err)
			said = true
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.flags.delay):
		}
	}
}

func (s *server) connection(source int, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connected[source] = is
	if is {
		s.sink.Connected(source, now())
	}
}

// lines takes lines until the connection ends. One that is too long is counted, and left out.
func (s *server) lines(ctx context.Context, source int, c net.Conn) error {
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	defer func() { _ = c.Close() }() // it is only read
	buf := make([]byte, 0, wire.MaxEvent+1)
	long := false
	for {
		n, err := c.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		for {
			i := bytes.IndexByte(buf, '\n')
			if i < 0 {
				break
			}
			if !long {
				s.takeLine(source, buf[:i])
			}
			long = false
			buf = append(buf[:0], buf[i+1:]...)
		}
		if len(buf) == cap(buf) {
			if !long {
				s.takeLine(source, buf) // counted as wrong
			}
			long, buf = true, buf[:0]
		}
		if err != nil {
			return err
		}
	}
}

func (s *server) takeLine(source int, line []byte) {
	s.mu.Lock()
	err := s.sink.Line(source, line)
	s.mu.Unlock()
	if err != nil {
		s.few.Warn("a line is not an event", "err", err)
		return
	}
	if s.flags.webhook == "" {
		return
	}
	select {
	case s.hooks <- bytes.Clone(line):
	default:
		s.lost()
	}
}

func (s *server) lost() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsent++
}

// call sends events to the webhook, one after the other.
func (s *server) call(ctx context.Context) {
	client := &http.Client{Timeout: 10 * time.Second}
	failing := false
	for {
		var line []byte
		select {
		case <-ctx.Done():
			return
		case line = <-s.hooks:
		}
		err := post(ctx, client, s.flags.webhook, line)
		if err != nil {
			s.lost()
		}
		if (err != nil) != failing {
			failing = err != nil
			s.few.Warn("the webhook", "takes events", !failing, "err", err)
		}
	}
}

func post(ctx context.Context, client *http.Client, url string, line []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(line))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // so that the connection can be used again
	if resp.StatusCode >= 300 {
		return fmt.Errorf("it answers with HTTP status %d", resp.StatusCode)
	}
	return nil
}

func (s *server) tick(ctx context.Context) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			s.mu.Lock()
			s.sink.Tick(now())
			s.mu.Unlock()
		}
	}
}

func now() time.Duration { return time.Duration(time.Now().UnixNano()) }

func (s *server) handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(s)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.ready() {
			http.Error(w, "no tracer is connected, and no event came lately", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

func (s *server) ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.links() > 0 || time.Since(s.sink.Last) <= s.flags.window
}

// links is how many sockets are connected to. mu is held.
func (s *server) links() (n int) {
	for _, is := range s.connected {
		if is {
			n++
		}
	}
	return n
}
