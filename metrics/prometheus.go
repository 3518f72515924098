package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/ingero-io/ingero/lib/crosssite"
)

// Scraped is a server from which Prometheus reads the metrics.
type Scraped struct {
	Reader sdk.Reader
	server *http.Server
	addr   net.Addr
}

// Limits on scraping.
const (
	scrapesAtOnce = 4
	scrapeTimeout = 10 * time.Second
)

// Scrape listens on addr (":9090" is every address of the machine) and serves /metrics. Histograms
// are native ones if the client supports them.
func Scrape(addr string) (*Scraped, error) {
	registry := prometheus.NewRegistry()
	reader, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithoutScopeInfo())
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("serve metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics",
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapesAtOnce, Timeout: scrapeTimeout}))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "Ingero. The metrics are at /metrics.")
	})
	s := &Scraped{
		Reader: reader, addr: l.Addr(),
		server: &http.Server{
			Handler: crosssite.Handler(mux, local(l.Addr())), ReadHeaderTimeout: 5 * time.Second,
			WriteTimeout: 2 * scrapeTimeout, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		},
	}
	go func() { _ = s.server.Serve(l) }() // ends by Close; other errors concern only one client
	return s, nil
}

// local reports whether only programs on this machine reach an address.
func local(a net.Addr) bool { return crosssite.Loopback(crosssite.Hostname(a.String())) }

// Addr is the listening address.
func (s *Scraped) Addr() net.Addr { return s.addr }

// Close stops listening; running scrapes may finish.
func (s *Scraped) Close() error {
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	err := s.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return s.server.Close()
	}
	return err
}
