package metrics

import (
	"bufio"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/report"
)

// collectorEnv names an OpenTelemetry Collector, built from internal/otelcollector:
// make test-collector.
const collectorEnv = "INGERO_OTEL_COLLECTOR"

// collector is an OpenTelemetry Collector that runs.
type collector struct {
	t          *testing.T
	cmd        *exec.Cmd
	http, grpc string // addresses
	file       string // of what it received
}

// collect starts a collector, with TLS or without.
func collect(t *testing.T, tls bool) *collector {
	t.Helper()
	dir := t.TempDir()
	c := &collector{t: t, http: freeAddress(t), grpc: freeAddress(t), file: filepath.Join(dir, "received.json")}
	secure := ""
	if tls {
		secure = certify(t, dir)
	}
	config := fmt.Sprintf(`
receivers:
  otlp:
    protocols:
      grpc: {endpoint: %q%s}
      http: {endpoint: %q%[2]s}
exporters:
  file: {path: %[4]q}
service:
  pipelines:
    metrics: {receivers: [otlp], exporters: [file]}
    logs: {receivers: [otlp], exporters: [file]}
`, c.grpc, secure, c.http, c.file)
	path := filepath.Join(dir, "collector.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c.start(path)
	return c
}

// freeAddress is one that nobody listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// certify makes the test server's certificate the collector's, and one that is trusted.
func certify(t *testing.T, dir string) (config string) {
	t.Helper()
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	pair := srv.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cert := write("cert.pem", "CERTIFICATE", pair.Certificate[0])
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", cert)
	return fmt.Sprintf(", tls: {cert_file: %q, key_file: %q}", cert, write("key.pem", "PRIVATE KEY", key))
}

func (c *collector) start(config string) {
	c.t.Helper()
	c.cmd = exec.CommandContext(c.t.Context(), os.Getenv(collectorEnv), "--config", "file:"+config)
	stderr, err := c.cmd.StderrPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
		if strings.Contains(lines.Text(), "Everything is ready") {
			c.ready(stderr)
			return
		}
	}
	c.t.Fatalf("the collector ended (%v):\n%s", c.cmd.Wait(), said.String())
}

// ready reads what else it says until it ends, so that it can say it.
func (c *collector) ready(stderr io.Reader) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, stderr) // until the pipe is closed
	}()
	c.t.Cleanup(func() { <-done })
}

// received ends the collector and reads what it has received.
func (c *collector) received() (all received) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Fatal(err)
	}
	b, err := os.ReadFile(c.file)
	if err != nil {
		c.t.Fatal(err)
	}
	for d := json.NewDecoder(strings.NewReader(string(b))); d.More(); {
		if err := d.Decode(&all); err != nil { // adds to what is there
			c.t.Fatal(err)
		}
		all.metrics = append(all.metrics, all.ResourceMetrics...)
		all.logs = append(all.logs, all.ResourceLogs...)
		all.ResourceMetrics, all.ResourceLogs = nil, nil
	}
	return all
}

// received is OTLP as JSON, as far as it matters here.
type received struct {
	ResourceMetrics []resourceMetrics
	ResourceLogs    []resourceLogs
	metrics         []resourceMetrics
	logs            []resourceLogs
}

type resourceMetrics struct {
	Resource     struct{ Attributes attributes }
	ScopeMetrics []struct {
		Metrics []struct {
			Name, Unit           string
			ExponentialHistogram struct {
				DataPoints []struct {
					Attributes attributes
					Count      uint64 `json:",string"`
					Sum        float64
				}
			}
		}
	}
}

type resourceLogs struct {
	Resource  struct{ Attributes attributes }
	ScopeLogs []struct {
		LogRecords []struct {
			TraceID, SpanID, EventName, SeverityText string
			Attributes                               attributes
			Body                                     value
		}
	}
}

type value struct{ StringValue string }

type attributes []struct {
	Key   string
	Value value
}

func (a attributes) of(key string) string {
	for _, x := range a {
		if x.Key == key {
			return x.Value.StringValue
		}
	}
	return ""
}

// The OpenTelemetry Collector receives what is pushed, over both protocols, with TLS
// and without.
func TestACollectorReceivesMetricsAndFindings(t *testing.T) {
	if os.Getenv(collectorEnv) == "" {
		t.Skip(collectorEnv + " is not set: make test-collector builds an OpenTelemetry Collector and sends to it")
	}
	for _, scheme := range []string{"http", "https", "grpc", "grpcs"} {
		t.Run(scheme, func(t *testing.T) {
			c := collect(t, strings.HasSuffix(scheme, "s"))
			address := c.http
			if strings.HasPrefix(scheme, "grpc") {
				address = c.grpc
			}
			m, p := pushed(t, scheme+"://"+address)
			m.Batch(batch(t))
			m.Second(&Tracer{InFlight: 1})
			chain := report.Chain{ID: "f1", Severity: "HIGH", Summary: "engine lost 12 %", LostPct: 12}
			chain.Cause.Kind, chain.Effect.Process = "cpu_contention", "engine"
			found := &report.Report{Chains: []report.Chain{chain}}
			m.Findings(found)
			NewLogs(p.Logs, "a run").Findings(found, time.Unix(1_800_000_000, 0))
			if err := m.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := p.Logs.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			all := c.received()
			all.checkMetrics(t)
			all.checkLogs(t)
		})
	}
}

// checkMetrics demands every metric of the catalogue, and of calls as many as there
// were: pushed and then once more.
func (r *received) checkMetrics(t *testing.T) {
	t.Helper()
	units, calls := map[string]string{}, map[string]uint64{}
	for _, rm := range r.metrics {
		if n := rm.Resource.Attributes.of("host.name"); n != "node-1" {
			t.Errorf("the metrics are of node %q", n)
		}
		for _, sm := range rm.ScopeMetrics {
			for _, m := range sm.Metrics {
				units[m.Name] = m.Unit
				for _, p := range m.ExponentialHistogram.DataPoints {
					if m.Name == callDuration { // a later push has the sum
						calls[p.Attributes.of(attrOp)] = max(calls[p.Attributes.of(attrOp)], p.Count)
					}
				}
			}
		}
	}
	for i := range Catalogue {
		if unit, ok := units[Catalogue[i].Name]; !ok || unit != Catalogue[i].Unit {
			t.Errorf("%s was received %t, with unit %q", Catalogue[i].Name, ok, unit)
		}
	}
	want := map[string]uint64{}
	for _, c := range batch(t).Calls {
		want[c.Op.String()] += 2
	}
	for op, n := range want {
		if calls[op] != n {
			t.Errorf("%d calls of %s, want %d", calls[op], op, n)
		}
	}
}

func (r *received) checkLogs(t *testing.T) {
	t.Helper()
	n := 0
	for _, rl := range r.logs {
		for _, sl := range rl.ScopeLogs {
			for _, l := range sl.LogRecords {
				n++
				if l.Body.StringValue != "engine lost 12 %" || l.SeverityText != "HIGH" || l.EventName != "ingero.finding" || l.Attributes.of(attrCause) != "cpu_contention" {
					t.Errorf("the record is %+v", l)
				}
				if len(l.TraceID) != 32 || len(l.SpanID) != 16 || strings.Trim(l.TraceID, "0") == "" || strings.Trim(l.SpanID, "0") == "" {
					t.Errorf("trace %q, span %q", l.TraceID, l.SpanID)
				}
			}
		}
	}
	if n != 1 {
		t.Errorf("%d records of one finding", n)
	}
}
