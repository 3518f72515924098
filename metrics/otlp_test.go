package metrics

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	logspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	spanspb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // what the exporter compresses with
	"google.golang.org/protobuf/proto"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// inbox keeps what a collector was sent.
type inbox struct {
	metricspb.UnimplementedMetricsServiceServer
	mu      sync.Mutex
	metrics []*metricspb.ExportMetricsServiceRequest
	logs    []*logspb.ExportLogsServiceRequest
	spans   []*spanspb.ExportTraceServiceRequest
	refuse  int // the number of requests that are refused with "try again"
}

func (i *inbox) Export(_ context.Context,
	r *metricspb.ExportMetricsServiceRequest,
) (*metricspb.ExportMetricsServiceResponse, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.metrics = append(i.metrics, r)
	return &metricspb.ExportMetricsServiceResponse{}, nil
}

// logBox is the inbox for logs, whose method has the same name.
type logBox struct {
	logspb.UnimplementedLogsServiceServer
	*inbox
}

func (l logBox) Export(_ context.Context, r *logspb.ExportLogsServiceRequest) (*logspb.ExportLogsServiceResponse,
	error,
) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.logs = append(l.logs, r)
	return &logspb.ExportLogsServiceResponse{}, nil
}

// spanBox is the inbox for spans.
type spanBox struct {
	spanspb.UnimplementedTraceServiceServer
	*inbox
}

func (b spanBox) Export(_ context.Context, r *spanspb.ExportTraceServiceRequest) (*spanspb.ExportTraceServiceResponse,
	error,
) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spans = append(b.spans, r)
	return &spanspb.ExportTraceServiceResponse{}, nil
}

// serveGRPC serves an inbox, and returns its URL.
func serveGRPC(t *testing.T, box *inbox) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	metricspb.RegisterMetricsServiceServer(srv, box)
	logspb.RegisterLogsServiceServer(srv, logBox{inbox: box})
	spanspb.RegisterTraceServiceServer(srv, spanBox{inbox: box})
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(srv.Stop)
	return "grpc://" + l.Addr().String()
}

// ServeHTTP is OTLP over HTTP.
func (i *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.refuse > 0 {
		i.refuse--
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b, err := io.ReadAll(z)
	if err == nil && strings.HasSuffix(r.URL.Path, "/v1/metrics") {
		m := &metricspb.ExportMetricsServiceRequest{}
		err = proto.Unmarshal(b, m)
		i.metrics = append(i.metrics, m)
	} else if err == nil && strings.HasSuffix(r.URL.Path, "/v1/traces") {
		m := &spanspb.ExportTraceServiceRequest{}
		err = proto.Unmarshal(b, m)
		i.spans = append(i.spans, m)
	} else if err == nil {
		l := &logspb.ExportLogsServiceRequest{}
		err = proto.Unmarshal(b, l)
		i.logs = append(i.logs, l)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func TestMetricsAndFindingsArePushed(t *testing.T) {
	t.Run("http", func(t *testing.T) {
		box := &inbox{refuse: 2}
		srv := httptest.NewServer(box)
		defer srv.Close()
		push(t, box, srv.URL)
	})
	t.Run("grpc", func(t *testing.T) {
		box := &inbox{}
		push(t, box, serveGRPC(t, box))
	})
}

// pushed is a set of metrics, with something in it, that is pushed to a URL.
func pushed(t *testing.T, url string) (*Metrics, *Pushed) {
	t.Helper()
	e, err := ParseEndpoint(url)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Push(t.Context(), e, Sender{Node: "node-1", Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(Sender{Node: "node-1", Version: "test"}, p.Reader)
	if err != nil {
		t.Fatal(err)
	}
	m.Batch(batch(t))
	return m, p
}

func push(t *testing.T, box *inbox, url string) {
	m, p := pushed(t, url)
	logs := NewLogs(p.Logs, "node-1 run")
	chain := report.Chain{
		ID: "f1", Severity: "MEDIUM", Summary: "engine lost 12 %", LostPct: 12,
		Recommendations: []string{"do this"},
	}
	chain.Cause.Kind, chain.Cause.Process, chain.Effect.Process = "cpu_contention", "backup", "engine"
	now := time.Unix(1_800_000_000, 0)
	at := uint64(now.UnixNano())
	logs.Xids([]store.Xid{{At: at, GPU: 1, Code: 79}, {At: at + 1, GPU: -1, Code: 31}})
	for i := range 3 { // the same finding, second by second
		logs.Findings(&report.Report{Chains: []report.Chain{chain}}, now.Add(time.Duration(i)*time.Second))
	}
	logs.Findings(&report.Report{Chains: []report.Chain{chain}}, now.Add(time.Minute))
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if logs, spans := p.Lost(); logs != 0 || spans != 0 {
		t.Errorf("%d log records and %d spans count as lost", logs, spans)
	}
	box.checkMetrics(t)
	box.checkLogs(t, now)
}

func (i *inbox) checkMetrics(t *testing.T) {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	seen := map[string]bool{}
	for _, r := range i.metrics {
		for _, rm := range r.GetResourceMetrics() {
			for _, sm := range rm.GetScopeMetrics() {
				for _, x := range sm.GetMetrics() {
					seen[x.GetName()] = true
					for _, h := range x.GetExponentialHistogram().GetDataPoints() {
						if x.GetName() == callDuration && (h.GetCount() == 0 || h.GetSum() <= 0) {
							t.Errorf("a histogram holds %d calls of %v s", h.GetCount(), h.GetSum())
						}
					}
				}
			}
		}
	}
	for _, name := range []string{callDuration, callErrors, threadTime, memoryUsed, gpuUtilization, losses} {
		if !seen[name] {
			t.Errorf("%s was not sent", name)
		}
	}
}

func (i *inbox) checkLogs(t *testing.T, now time.Time) {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	var times []uint64
	var xids []string
	spans := map[string]bool{}
	for _, r := range i.logs {
		for _, rl := range r.GetResourceLogs() {
			for _, sl := range rl.GetScopeLogs() {
				for _, l := range sl.GetLogRecords() {
					if l.GetEventName() == "ingero.gpu.xid" {
						xids = append(xids, fmt.Sprintf("%d %s %s %v", l.GetTimeUnixNano()-uint64(now.UnixNano()), l.GetSeverityText(),
							l.GetBody().GetStringValue(), textsOf(l.GetAttributes())))
						continue
					}
					times = append(times, l.GetTimeUnixNano())
					spans[hex.EncodeToString(l.GetTraceId())+hex.EncodeToString(l.GetSpanId())] = true
					if l.GetBody().GetStringValue() != "engine lost 12 %" || l.GetEventName() != "ingero.finding" ||
						l.GetSeverityText() != "MEDIUM" || l.GetSeverityNumber() != logspbWarn {
						t.Errorf("the record is %v", l)
					}
					if len(l.GetTraceId()) != 16 || len(l.GetSpanId()) != 8 {
						t.Errorf("trace %x, span %x", l.GetTraceId(), l.GetSpanId())
					}
				}
			}
		}
	}
	if len(times) != 2 || times[0] != uint64(now.UnixNano()) || times[1] != uint64(now.Add(time.Minute).UnixNano()) {
		t.Errorf("logged at %v, want once and again after a minute", times)
	}
	if want := []string{
		"0 ERROR GPU 1 reported Xid 79 (GPU has fallen off the bus) map[hw.id:1 ingero.gpu.xid:79]",
		"1 WARN a GPU reported Xid 31 (GPU memory page fault) map[ingero.gpu.xid:31]",
	}; !slices.Equal(xids, want) {
		t.Errorf("errors of GPUs: %q", xids)
	}
	if len(spans) != 1 {
		t.Errorf("one finding has %d spans", len(spans))
	}
}

// logspbWarn is SEVERITY_NUMBER_WARN.
const logspbWarn = 13

// A collector that is not there delays nobody and fails nothing but the push.
func TestACollectorMayBeAway(t *testing.T) {
	m, p := pushed(t, "http://127.0.0.1:1")
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	if err := m.Close(ctx); err == nil {
		t.Error("nobody is there, and nothing is said")
	}
	if err := p.Close(ctx); err != nil { // has nothing to send
		t.Error(err)
	}
}
