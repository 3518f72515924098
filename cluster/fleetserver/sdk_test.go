package fleetserver_test

import (
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/ingero-io/ingero/cluster/fleetserver"
)

// Pushes of earlier agents, made by OpenTelemetry's SDK, are read over both transports, compressed or not.
func TestOpenTelemetrysOwnClient(t *testing.T) {
	fleet := fleetserver.New(fleetserver.Options{Token: "secret"})
	s := httptest.NewServer(fleet.Handler())
	defer s.Close()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := fleet.GRPC()
	defer g.Stop()
	go g.Serve(l)
	host := strings.TrimPrefix(s.URL, "http://")
	token := map[string]string{"authorization": "Bearer secret"}
	must := func(e sdk.Exporter, err error) sdk.Exporter {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	exporters := []sdk.Exporter{
		must(otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpoint(host), otlpmetrichttp.WithInsecure(),
			otlpmetrichttp.WithHeaders(token))),
		must(otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpoint(host), otlpmetrichttp.WithInsecure(),
			otlpmetrichttp.WithHeaders(token), otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression))),
		must(otlpmetricgrpc.New(t.Context(), otlpmetricgrpc.WithEndpoint(l.Addr().String()), otlpmetricgrpc.WithInsecure(),
			otlpmetricgrpc.WithHeaders(token))),
		must(otlpmetricgrpc.New(t.Context(), otlpmetricgrpc.WithEndpoint(l.Addr().String()), otlpmetricgrpc.WithInsecure(),
			otlpmetricgrpc.WithHeaders(token), otlpmetricgrpc.WithCompressor("gzip"))),
	}
	for i, e := range exporters {
		p := sdk.NewMeterProvider(sdk.WithReader(sdk.NewPeriodicReader(e)), sdk.WithResource(resource.NewSchemaless(
			attribute.String("ingero.node.id", "node-a"), attribute.String("ingero.cluster.id", "c"))))
		for _, name := range []string{
			"ingero.node.health_score", "ingero.health.score", "ingero.node.throughput_ratio",
		} {
			score, err := p.Meter("ingero.health").Float64Gauge(name)
			if err != nil {
				t.Fatal(err)
			}
			score.Record(t.Context(), 0.9)
		}
		if err := p.Shutdown(t.Context()); err != nil {
			t.Errorf("exporter %d: %v", i, err)
		}
		if n := fleet.Counts(); n.Earlier != uint64(i+1) || n.Denied != 0 || n.Faults != [4]uint64{} {
			t.Errorf("after exporter %d: %+v", i, n)
		}
	}
	e := must(otlpmetricgrpc.New(t.Context(), otlpmetricgrpc.WithEndpoint(l.Addr().String()),
		otlpmetricgrpc.WithInsecure(), otlpmetricgrpc.WithRetry(otlpmetricgrpc.RetryConfig{})))
	p := sdk.NewMeterProvider(sdk.WithReader(sdk.NewPeriodicReader(e)))
	c, err := p.Meter("m").Int64Counter("c")
	if err != nil {
		t.Fatal(err)
	}
	c.Add(t.Context(), 1)
	if err := p.Shutdown(t.Context()); err == nil || fleet.Counts().Denied != 1 {
		t.Errorf("without a token: %v, %+v", err, fleet.Counts())
	}
}
