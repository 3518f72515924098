package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// How metrics, logs and spans are pushed. Failed sends are retried for a while. Logs and spans wait in bounded
// queues; metrics are sums, which the next push contains.
const (
	pushEvery   = 10 * time.Second
	pushTimeout = 5 * time.Second
	logQueue    = 512
	spanQueue   = 512
	retryFirst  = 500 * time.Millisecond // first delay after a refusal that allows a retry; then longer and longer
	retryMost   = 5 * time.Second
	retryAll    = time.Minute
)

// Endpoint is an OTLP receiver.
type Endpoint struct {
	GRPC bool
	TLS  bool
	Host string // with the port
}

// ParseEndpoint parses HOST:PORT or a URL: http, https, grpc (without TLS) and grpcs. Without a
// scheme, port 4317 means gRPC and every other one HTTP, and only a loopback address is used
// without TLS.
func ParseEndpoint(s string) (Endpoint, error) {
	const want = "write HOST:4318 for OTLP over HTTP, HOST:4317 over gRPC, or a URL with http, https, grpc or grpcs"
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		scheme, rest = "", s
	}
	u, err := url.Parse("//" + rest)
	if err != nil || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return Endpoint{}, fmt.Errorf("invalid endpoint %q: %s", s, want)
	}
	e := Endpoint{Host: u.Host}
	port := u.Port()
	switch scheme {
	case "http", "https":
		e.TLS = scheme == "https"
	case "grpc", "grpcs":
		e.GRPC, e.TLS = true, scheme == "grpcs"
	case "":
		e.GRPC, e.TLS = port == "4317", !loopback(u.Hostname())
	default:
		return Endpoint{}, fmt.Errorf("invalid endpoint %q: unknown scheme; %s", s, want)
	}
	if port == "" {
		port = "4318"
		if e.GRPC {
			port = "4317"
		}
		e.Host = net.JoinHostPort(u.Hostname(), port)
	}
	return e, nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// String is the endpoint as a URL.
func (e Endpoint) String() string {
	scheme := map[[2]bool]string{
		{false, false}: "http", {false, true}: "https", {true, false}: "grpc",
		{true, true}: "grpcs",
	}[[2]bool{e.GRPC, e.TLS}]
	return scheme + "://" + e.Host
}

// Pushed sends metrics, findings and events of ranks over OTLP. The environment variables of
// OpenTelemetry add headers, certificates and timeouts: OTEL_EXPORTER_OTLP_HEADERS,
// OTEL_EXPORTER_OTLP_CERTIFICATE and so on.
type Pushed struct {
	Reader sdk.Reader
	Logs   *sdklog.LoggerProvider
	Spans  *sdktrace.TracerProvider

	sender      Sender
	direct      sdk.Exporter // of what is no series of an instrument
	logs, spans outbox
}

// Push connects to an endpoint, which need not be reachable yet.
func Push(ctx context.Context, e Endpoint, of Sender) (*Pushed, error) {
	metrics, err := metricExporter(ctx, e)
	if err != nil {
		return nil, fmt.Errorf("send metrics to %s: %w", e, err)
	}
	direct, err := metricExporter(ctx, e)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("send metrics to %s: %w", e, err), metrics.Shutdown(ctx))
	}
	logs, err := logExporter(ctx, e)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("send findings to %s: %w", e, err), metrics.Shutdown(ctx), direct.Shutdown(ctx))
	}
	spans, err := spanExporter(ctx, e)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("send spans to %s: %w", e, err), metrics.Shutdown(ctx), direct.Shutdown(ctx),
			logs.Shutdown(ctx))
	}
	p := &Pushed{
		Reader: sdk.NewPeriodicReader(metrics, sdk.WithInterval(pushEvery), sdk.WithTimeout(pushTimeout)),
		sender: of, direct: direct,
	}
	p.logs.most, p.spans.most = logQueue, spanQueue
	who := of.identity()
	p.Logs = sdklog.NewLoggerProvider(sdklog.WithResource(who), sdklog.WithProcessor(logOutbox{
		sdklog.NewBatchProcessor(sentLogs{logs, &p.logs}, sdklog.WithMaxQueueSize(logQueue),
			sdklog.WithExportTimeout(pushTimeout)), &p.logs,
	}))
	p.Spans = sdktrace.NewTracerProvider(sdktrace.WithResource(who), sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithIDGenerator(spanIDs{}), sdktrace.WithSpanProcessor(spanOutbox{
			sdktrace.NewBatchSpanProcessor(sentSpans{spans, &p.spans}, sdktrace.WithMaxQueueSize(spanQueue),
				sdktrace.WithExportTimeout(pushTimeout)), &p.spans,
		}))
	return p, nil
}

// Close sends the log records and spans that are left, until ctx ends. What is not sent then is lost. A Collectives
// that sends by p is closed before.
func (p *Pushed) Close(ctx context.Context) error {
	err := errors.Join(p.Logs.Shutdown(ctx), p.Spans.Shutdown(ctx), p.direct.Shutdown(ctx))
	p.logs.close()
	p.spans.close()
	return err
}

// Lost is how many log records and spans the receiver did not get so far.
func (p *Pushed) Lost() (logs, spans uint64) { return p.logs.losses(), p.spans.losses() }

func metricExporter(ctx context.Context, e Endpoint) (sdk.Exporter, error) {
	if e.GRPC {
		o := []otlpmetricgrpc.Option{
			otlpmetricgrpc.WithEndpoint(e.Host), otlpmetricgrpc.WithCompressor("gzip"),
			otlpmetricgrpc.WithRetry(otlpmetricgrpc.RetryConfig{
				Enabled: true, InitialInterval: retryFirst,
				MaxInterval: retryMost, MaxElapsedTime: retryAll,
			}),
		}
		if !e.TLS {
			o = append(o, otlpmetricgrpc.WithInsecure())
		}
		return otlpmetricgrpc.New(ctx, o...)
	}
	o := []otlpmetrichttp.Option{
		otlpmetrichttp.WithEndpoint(e.Host), otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression),
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{
			Enabled: true, InitialInterval: retryFirst,
			MaxInterval: retryMost, MaxElapsedTime: retryAll,
		}),
	}
	if !e.TLS {
		o = append(o, otlpmetrichttp.WithInsecure())
	}
	return otlpmetrichttp.New(ctx, o...)
}

func logExporter(ctx context.Context, e Endpoint) (sdklog.Exporter, error) {
	if e.GRPC {
		o := []otlploggrpc.Option{
			otlploggrpc.WithEndpoint(e.Host), otlploggrpc.WithCompressor("gzip"),
			otlploggrpc.WithRetry(otlploggrpc.RetryConfig{
				Enabled: true, InitialInterval: retryFirst, MaxInterval: retryMost,
				MaxElapsedTime: retryAll,
			}),
		}
		if !e.TLS {
			o = append(o, otlploggrpc.WithInsecure())
		}
		return otlploggrpc.New(ctx, o...)
	}
	o := []otlploghttp.Option{
		otlploghttp.WithEndpoint(e.Host), otlploghttp.WithCompression(otlploghttp.GzipCompression),
		otlploghttp.WithRetry(otlploghttp.RetryConfig{
			Enabled: true, InitialInterval: retryFirst, MaxInterval: retryMost,
			MaxElapsedTime: retryAll,
		}),
	}
	if !e.TLS {
		o = append(o, otlploghttp.WithInsecure())
	}
	return otlploghttp.New(ctx, o...)
}

func spanExporter(ctx context.Context, e Endpoint) (sdktrace.SpanExporter, error) {
	if e.GRPC {
		o := []otlptracegrpc.Option{
			otlptracegrpc.WithEndpoint(e.Host), otlptracegrpc.WithCompressor("gzip"),
			otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{
				Enabled: true, InitialInterval: retryFirst, MaxInterval: retryMost,
				MaxElapsedTime: retryAll,
			}),
		}
		if !e.TLS {
			o = append(o, otlptracegrpc.WithInsecure())
		}
		return otlptracegrpc.New(ctx, o...)
	}
	o := []otlptracehttp.Option{
		otlptracehttp.WithEndpoint(e.Host), otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: retryFirst, MaxInterval: retryMost,
			MaxElapsedTime: retryAll,
		}),
	}
	if !e.TLS {
		o = append(o, otlptracehttp.WithInsecure())
	}
	return otlptracehttp.New(ctx, o...)
}
