// Package collectortest runs an OpenTelemetry Collector for tests, and reads what it has
// received.
package collectortest

import (
	"bufio"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
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
)

// Env names an OpenTelemetry Collector that receives OTLP and writes files, as bin/ingero-fleet-collector:
// make test-collector.
const Env = "INGERO_OTEL_COLLECTOR"

// Require skips a test where there is no collector.
func Require(t *testing.T) {
	t.Helper()
	if os.Getenv(Env) == "" {
		t.Skip(Env + " is not set: make test-collector builds an OpenTelemetry Collector and sends to it")
	}
}

// Collector is an OpenTelemetry Collector that runs.
type Collector struct {
	t          *testing.T
	cmd        *exec.Cmd
	HTTP, GRPC string // addresses
	file       string // of what it received
}

// maxStarts is how often a collector is started before it counts as not starting: another program may take a
// free port before the collector does.
const maxStarts = 5

// Start starts a collector, with TLS or without.
func Start(t *testing.T, tls bool) *Collector {
	t.Helper()
	dir := t.TempDir()
	secure := ""
	if tls {
		secure = certify(t, dir)
	}
	for n := 1; ; n++ {
		c := &Collector{t: t, HTTP: freeAddress(t), GRPC: freeAddress(t), file: filepath.Join(dir, "received.json")}
		said, err := c.start(c.configure(dir, secure))
		if err == nil {
			return c
		}
		if !strings.Contains(said, syscall.EADDRINUSE.Error()) || n == maxStarts {
			t.Fatalf("the collector ended (%v):\n%s", err, said)
		}
	}
}

// configure writes the configuration and returns its path.
func (c *Collector) configure(dir, secure string) (path string) {
	c.t.Helper()
	config := fmt.Sprintf(`
receivers:
  otlp:
    protocols:
      grpc: {endpoint: %q%s}
      http: {endpoint: %q%[2]s}
exporters:
  file: {path: %[4]q}
service:
  telemetry: {metrics: {level: none}} # they would be served at a fixed port
  pipelines:
    metrics: {receivers: [otlp], exporters: [file]}
    logs: {receivers: [otlp], exporters: [file]}
    traces: {receivers: [otlp], exporters: [file]}
`, c.GRPC, secure, c.HTTP, c.file)
	path = filepath.Join(dir, "collector.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// freeAddress is one that nobody listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // its address is all that was wanted
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

// start runs the collector and returns when it is ready, or ended: then with what it said.
func (c *Collector) start(config string) (said string, err error) {
	c.t.Helper()
	c.cmd = exec.CommandContext(c.t.Context(), os.Getenv(Env), "--config", "file:"+config)
	stderr, err := c.cmd.StderrPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	var b strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		fmt.Fprintln(&b, lines.Text())
		if strings.Contains(lines.Text(), "Everything is ready") {
			c.ready(stderr)
			return b.String(), nil
		}
	}
	if err = c.cmd.Wait(); err == nil {
		err = errors.New("exit status 0")
	}
	return b.String(), err
}

// ready reads what else it says until it ends, so that it can say it.
func (c *Collector) ready(stderr io.Reader) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, stderr) // until the pipe is closed
	}()
	c.t.Cleanup(func() { <-done })
}

// Received ends the collector and reads what it has received.
func (c *Collector) Received() (all Received) {
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
		all.Metrics = append(all.Metrics, all.ResourceMetrics...)
		all.Logs = append(all.Logs, all.ResourceLogs...)
		all.Spans = append(all.Spans, all.ResourceSpans...)
		all.ResourceMetrics, all.ResourceLogs, all.ResourceSpans = nil, nil, nil
	}
	return all
}

// Received is OTLP as JSON, as far as it matters here.
type Received struct {
	ResourceMetrics []ResourceMetrics
	ResourceLogs    []ResourceLogs
	ResourceSpans   []ResourceSpans
	Metrics         []ResourceMetrics `json:"-"`
	Logs            []ResourceLogs    `json:"-"`
	Spans           []ResourceSpans   `json:"-"`
}

type ResourceMetrics struct {
	Resource     struct{ Attributes Attributes }
	ScopeMetrics []struct {
		Metrics []struct {
			Name, Unit           string
			ExponentialHistogram struct {
				DataPoints []struct {
					Attributes Attributes
					Count      uint64 `json:",string"`
					Sum        float64
				}
			}
		}
	}
}

type ResourceLogs struct {
	Resource  struct{ Attributes Attributes }
	ScopeLogs []struct {
		LogRecords []struct {
			TraceID, SpanID, EventName, SeverityText string
			Attributes                               Attributes
			Body                                     Value
		}
	}
}

type ResourceSpans struct {
	Resource   struct{ Attributes Attributes }
	ScopeSpans []struct {
		Spans []struct {
			TraceID, SpanID, Name              string
			StartTimeUnixNano, EndTimeUnixNano uint64 `json:",string"`
			Attributes                         Attributes
			Events                             []struct {
				Name       string
				Attributes Attributes
			}
		}
	}
}

type Value struct{ StringValue string }

type Attributes []struct {
	Key   string
	Value Value
}

func (a Attributes) Of(key string) string {
	for _, x := range a {
		if x.Key == key {
			return x.Value.StringValue
		}
	}
	return ""
}
