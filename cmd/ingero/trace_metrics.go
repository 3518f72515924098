package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/cluster/arrivals"
	"github.com/ingero-io/ingero/cluster/peers"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/lib/fewlogs"
	"github.com/ingero-io/ingero/metrics"
	"github.com/ingero-io/ingero/store"
)

// metricsFlags say where trace sends metrics.
type metricsFlags struct {
	prometheus string
	otlp       string
}

func (f *metricsFlags) addFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.prometheus, "prometheus", "", "serve metrics to Prometheus on this address (:9090, 127.0.0.1:9090)")
	fl.StringVar(&f.otlp, "otlp", "",
		"send metrics and findings to an OpenTelemetry collector (HOST:4318, https://HOST:4318, grpc://HOST:4317)")
}

// metricsSink sends metrics and findings to monitoring systems.
type metricsSink struct {
	metrics *metrics.Metrics
	logs    *metrics.Logs       // nil without OTLP
	scraped *metrics.Scraped    // nil without Prometheus
	pushed  *metrics.Pushed     // nil without OTLP
	ranks   *metrics.Detections // nil without OTLP
	sent    *sentCollectives    // nil without OTLP
	log     *slog.Logger
	closing sync.Once
}

// sentCollectives sends what there is to know elsewhere of the ranks' collective operations.
type sentCollectives struct {
	chooser *arrivals.Chooser
	to      *metrics.Collectives
	sums    []arrivals.Sum
	chosen  []arrivals.Arrival

	mu   sync.Mutex // guards the rest
	last *report.Report
	at   time.Time // when it came
}

// found takes a report of the live diagnosis.
func (s *sentCollectives) found(r *report.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.at = r, time.Now()
}

// second ends a second.
func (s *sentCollectives) second(at time.Time) {
	s.sums, s.chosen = s.chooser.Second(uint64(at.UnixNano()), s.sums[:0], s.chosen[:0])
	s.to.Sums(s.sums)
	s.to.Arrivals(s.chosen, s.chains)
}

// chains are the findings of the last report in which a process loses time, or for which others wait.
func (s *sentCollectives) chains(pid uint32) (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil || time.Since(s.at) > peers.CauseFor {
		return nil
	}
	for i := range s.last.Chains {
		if c := &s.last.Chains[i]; c.Effect.PID == pid || c.Cause.PID == pid && c.Cause.Kind == event.CauseCollectiveWait {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// open starts what the flags request; nil if nothing. address is where the node can be asked, or empty.
func (f *metricsFlags) open(ctx context.Context, of metrics.Sender, address string, log *slog.Logger) (*metricsSink,
	error,
) {
	if f.prometheus == "" && f.otlp == "" {
		return nil, nil
	}
	e := &metricsSink{log: log}
	var readers []sdk.Reader
	var err error
	if f.prometheus != "" {
		if e.scraped, err = metrics.Scrape(f.prometheus); err != nil {
			return nil, fmt.Errorf("--prometheus: %w", err)
		}
		readers = append(readers, e.scraped.Reader)
		log.Info("metrics are served", "url", fmt.Sprintf("http://%s/metrics", e.scraped.Addr()))
	}
	if f.otlp != "" {
		to, err := metrics.ParseEndpoint(f.otlp)
		if err != nil {
			return nil, errors.Join(usage("--otlp: %w", err), e.Close())
		}
		// Errors come repeatedly, from the exporters' own goroutines.
		few := fewlogs.New(log, time.Now)
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
			few.Warn("cannot send", "to", to.String(), "err", err)
		}))
		if err := resolved(ctx, to); err != nil {
			log.Warn("--otlp: "+err.Error()+"; what is measured is sent when it can be", "to", to.String())
		}
		if e.pushed, err = metrics.Push(ctx, to, of); err != nil {
			return nil, errors.Join(err, e.Close())
		}
		readers = append(readers, e.pushed.Reader)
		e.logs = metrics.NewLogs(e.pushed.Logs, fmt.Sprintf("%s %d %d", of.Node, os.Getpid(), time.Now().UnixNano()))
		e.ranks = metrics.NewDetections(e.pushed, address)
		e.sent = &sentCollectives{chooser: arrivals.NewChooser(), to: metrics.NewCollectives(e.pushed, address)}
	}
	if e.metrics, err = metrics.New(of, readers...); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Batch implements agent.Sink.
func (e *metricsSink) Batch(b *store.Batch) {
	e.metrics.Batch(b)
	if e.logs != nil {
		e.logs.Xids(b.Xids)
	}
	if e.sent != nil {
		e.sent.chooser.Batch(b)
	}
}

// Second implements agent.Sink.
func (e *metricsSink) Second(s *agent.Status) {
	t := metrics.Tracer{InFlight: len(s.InFlight), CPU: s.CPU, RSS: s.RSS, Ring: s.Fill, DBBytes: s.DBBytes}
	if e.pushed != nil {
		e.sent.second(s.At)
		logs, spans := e.pushed.Lost()
		t.Unsent = logs + spans + e.sent.to.Lost() + e.sent.chooser.LeftOut()
	}
	e.metrics.Second(&t)
}

// found sends a report of the live diagnosis.
func (e *metricsSink) found(r *report.Report) {
	e.metrics.Findings(r)
	if e.logs != nil {
		e.logs.Findings(r, time.Now())
	}
	if e.sent != nil {
		e.sent.found(r)
	}
}

// lastPush is how long the end of a run waits for a collector.
const lastPush = 3 * time.Second

// Close sends the rest. A missing collector does not make a run fail. It may be called twice.
func (e *metricsSink) Close() (err error) {
	e.closing.Do(func() { err = e.end() })
	return err
}

func (e *metricsSink) end() error {
	ctx, stop := context.WithTimeout(context.Background(), lastPush)
	defer stop()
	if e.ranks != nil {
		e.ranks.Close(time.Now())
	}
	if e.metrics != nil {
		if err := e.metrics.Close(ctx); err != nil {
			otel.Handle(err)
		}
	}
	if e.pushed != nil {
		e.sent.second(time.Now()) // the rest of a second
		e.sent.to.Close(ctx)
		if err := e.pushed.Close(ctx); err != nil {
			otel.Handle(err)
		}
		logs, spans := e.pushed.Lost()
		if sums := e.sent.to.Lost(); logs+spans+sums > 0 {
			e.log.Warn("the receiver of --otlp did not get all that was sent", "log_records", logs, "spans", spans, "sums", sums)
		}
		if n := e.sent.chooser.LeftOut(); n > 0 {
			e.log.Info("not all collective operations that matter were sent: there were too many", "left_out", n)
		}
	}
	if e.scraped != nil {
		return e.scraped.Close()
	}
	return nil
}

// askedAt is the address at which other nodes ask a node that listens at address, empty if that is.
func askedAt(address, node string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = node
	}
	return net.JoinHostPort(host, port)
}

// sender is who sends: this program, on a node.
func sender(node, cluster string) metrics.Sender {
	return metrics.Sender{Node: node, Cluster: cluster, Version: build().Version}
}
