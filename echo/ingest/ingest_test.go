package ingest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcgzip "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/ingero-io/ingero/echo/access"
	"github.com/ingero-io/ingero/echo/ingest"
	"github.com/ingero-io/ingero/echo/intake"
	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/store"
)

const when = 1_700_000_001_000_000_000

// queue keeps what it is given, or returns an error.
type queue struct {
	mu   sync.Mutex
	rows []row.Row
	err  error
	room chan struct{} // if not nil, Enter waits for it
	wait chan struct{} // if not nil, rows are stored when it is closed
}

func (q *queue) Enter(_ context.Context, _ time.Time, rows []row.Row) (func(context.Context) error, error) {
	if q.room != nil {
		<-q.room
	}
	if errors.Is(q.err, intake.ErrFull) {
		return nil, q.err
	}
	return func(ctx context.Context) error { return q.store(ctx, rows) }, nil
}

func (q *queue) store(ctx context.Context, rows []row.Row) error {
	if q.wait != nil {
		select {
		case <-q.wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.rows = append(q.rows, rows...)
	}
	return q.err
}

// take returns what came, and drops it.
func (q *queue) take() []row.Row {
	q.mu.Lock()
	defer q.mu.Unlock()
	rows := q.rows
	q.rows = nil
	return rows
}

func server(t *testing.T, q *queue, tokens string) *ingest.Server {
	t.Helper()
	var known access.Tokens
	if err := known.Parse(tokens); err != nil {
		t.Fatal(err)
	}
	return ingest.New(ingest.Options{Queue: q, Tokens: &known, Now: func() time.Time { return time.Unix(0, when+5) }})
}

// dial serves gRPC in memory.
func dial(t *testing.T, s *ingest.Server) *grpc.ClientConn {
	t.Helper()
	l := bufconn.Listen(1 << 20)
	g := s.GRPC()
	var all sync.WaitGroup
	all.Go(func() { _ = g.Serve(l) })
	c, err := grpc.NewClient("passthrough:x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		g.Stop()
		all.Wait()
	})
	return c
}

func metrics(points int, times ...pcommon.Timestamp) pmetricotlp.ExportRequest {
	m := pmetric.NewMetrics()
	one := m.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	one.SetName("m")
	one.SetEmptyGauge()
	for i := range points {
		p := one.Gauge().DataPoints().AppendEmpty()
		p.SetTimestamp(when)
		p.Attributes().PutInt("i", int64(i))
		if i < len(times) {
			p.SetTimestamp(times[i])
		}
	}
	return pmetricotlp.NewExportRequestFromMetrics(m)
}

func oneLog() plogotlp.ExportRequest {
	l := plog.NewLogs()
	r := l.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	r.SetTimestamp(when)
	r.SetEventName("e")
	return plogotlp.NewExportRequestFromLogs(l)
}

func oneSpan() ptraceotlp.ExportRequest {
	tr := ptrace.NewTraces()
	s := tr.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetStartTimestamp(when)
	s.SetName("s")
	return ptraceotlp.NewExportRequestFromTraces(tr)
}

func TestAllThreeComeOverGRPC(t *testing.T) {
	q := &queue{}
	c := dial(t, server(t, q, ""))
	ctx := metadata.AppendToOutgoingContext(t.Context(), "ingero-cluster-id", "east")
	if _, err := pmetricotlp.NewGRPCClient(c).Export(ctx, metrics(2), grpc.UseCompressor(grpcgzip.Name)); err != nil {
		t.Fatal(err)
	}
	if _, err := plogotlp.NewGRPCClient(c).Export(ctx, oneLog()); err != nil {
		t.Fatal(err)
	}
	if _, err := ptraceotlp.NewGRPCClient(c).Export(ctx, oneSpan()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range q.take() {
		event := ""
		if r.Record != nil {
			event = r.Record.Event
		}
		got = append(got, fmt.Sprint(r.Kind, r.Metric, event, r.Cluster, r.Received-r.Timestamp))
	}
	if want := "gaugemeast5 gaugemeast5 logeeast5 spanseast5"; strings.Join(got, " ") != want {
		t.Errorf("%q; want %q", got, want)
	}
}

func TestAPartialSuccessSaysHowManyAndWhy(t *testing.T) {
	q := &queue{}
	s := server(t, q, "")
	answer, err := pmetricotlp.NewGRPCClient(dial(t, s)).Export(t.Context(), metrics(3, 0))
	if err != nil {
		t.Fatal(err)
	}
	p := answer.PartialSuccess()
	if p.RejectedDataPoints() != 1 || !strings.Contains(p.ErrorMessage(), "m: the time 0 is not known") || len(q.take()) != 2 {
		t.Errorf("%d: %s", p.RejectedDataPoints(), p.ErrorMessage())
	}
	if c := s.Counts(); c.Refused != 1 || c.Points != 3 || c.Requests != 1 {
		t.Errorf("%+v", c)
	}
}

func TestErrorsOverGRPC(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		code  codes.Code
		retry bool
	}{
		"no room":           {intake.ErrFull, codes.ResourceExhausted, true},
		"the end":           {intake.ErrClosed, codes.Unavailable, true},
		"a full disk":       {fmt.Errorf("%w: no space", store.ErrUnavailable), codes.Unavailable, true},
		"another error":     {errors.New("unexpected"), codes.Unavailable, true},
		"the sender's time": {context.DeadlineExceeded, codes.DeadlineExceeded, false},
	} {
		q := &queue{err: c.err}
		_, err := pmetricotlp.NewGRPCClient(dial(t, server(t, q, ""))).Export(t.Context(), metrics(1))
		st := status.Convert(err)
		if st.Code() != c.code || retries(st) != c.retry {
			t.Errorf("%s: %v, says when to retry: %v", name, err, retries(st))
		}
	}
}

// What gRPC refuses without a call of the server counts, too.
func TestRequestsThatGRPCCannotReadCount(t *testing.T) {
	long := metrics(1)
	long.Metrics().ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).
		SetDescription(strings.Repeat("x", ingest.MaxRequest))
	for name, options := range map[string][]grpc.CallOption{
		"too long": nil, "a bomb": {grpc.UseCompressor(grpcgzip.Name)},
	} {
		q := &queue{}
		s := server(t, q, "")
		c := pmetricotlp.NewGRPCClient(dial(t, s))
		if _, err := c.Export(t.Context(), long, options...); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("%s: %v", name, err)
		}
		await(t, name, func() bool { return s.Counts() == ingest.Counts{Malformed: 1} })
		if _, err := c.Export(t.Context(), metrics(1), options...); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
		await(t, "another", func() bool { return s.Counts() == ingest.Counts{Malformed: 1, Requests: 1, Points: 1} })
		if len(q.take()) != 1 {
			t.Errorf("%s: it is kept", name)
		}
	}
}

// await waits until something is so, which it is a moment after the answer.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%s does not count", what)
			return
		}
	}
}

// A request whose sender's time ends before there is room found no room; one that is being written then did.
func TestTheSendersTimeEnds(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		busy int64
	}{
		"before there is room": {fmt.Errorf("%w: %w", intake.ErrFull, context.DeadlineExceeded), 1},
		"while it is written":  {context.DeadlineExceeded, 0},
	} {
		s := server(t, &queue{err: c.err}, "")
		if _, err := pmetricotlp.NewGRPCClient(dial(t, s)).Export(t.Context(), metrics(1)); err == nil {
			t.Errorf("%s: it is kept", name)
		}
		if n := s.Counts(); n != (ingest.Counts{Requests: 1, Points: 1, Busy: c.busy}) {
			t.Errorf("%s: it counts as %+v", name, n)
		}
	}
}

// retries reports whether a status says when to retry.
func retries(s *status.Status) bool {
	for _, d := range s.Details() {
		if i, ok := d.(*errdetails.RetryInfo); ok && i.GetRetryDelay().AsDuration() > 0 {
			return true
		}
	}
	return false
}

func TestTokensOverGRPC(t *testing.T) {
	q := &queue{}
	s := server(t, q, "writer-1234 write\nreader-1234 read")
	c := pmetricotlp.NewGRPCClient(dial(t, s))
	for token, want := range map[string]codes.Code{
		"Bearer writer-1234": codes.OK, "Bearer reader-1234": codes.PermissionDenied, "Bearer wrong": codes.Unauthenticated, "": codes.Unauthenticated,
	} {
		_, err := c.Export(metadata.AppendToOutgoingContext(t.Context(), "authorization", token), metrics(1))
		if status.Code(err) != want {
			t.Errorf("%q: %v; want %v", token, err, want)
		}
	}
	if c := s.Counts(); c.Denied != 3 || len(q.take()) != 1 {
		t.Errorf("%+v", c)
	}
}

// No more requests are in memory than allowed, and their room is free again when they end.
func TestTooManyRequestsAreRefused(t *testing.T) {
	q := &queue{wait: make(chan struct{})}
	s := server(t, q, "")
	var clients []pmetricotlp.GRPCClient
	for range 4 { // a connection has a limited number of streams
		clients = append(clients, pmetricotlp.NewGRPCClient(dial(t, s)))
	}
	const requests = 120
	results := make(chan error, requests)
	for i := range requests {
		go func() {
			_, err := clients[i%4].Export(t.Context(), metrics(1))
			results <- err
		}()
	}
	for range requests - 96 { // those without room
		if err := <-results; status.Code(err) != codes.ResourceExhausted {
			t.Fatalf("got %v; want it refused", err)
		}
	}
	close(q.wait)
	for range 96 {
		if err := <-results; err != nil {
			t.Errorf("one for which there was room: %v", err)
		}
	}
	q.wait = nil
	for range 100 {
		if _, err := clients[0].Export(t.Context(), metrics(1)); err != nil {
			t.Fatalf("there is no room again: %v", err)
		}
	}
}

// post sends a request over HTTP and returns the answer's status, header and body.
func post(t *testing.T, s *ingest.Server, path string, body []byte, header ...string) (*http.Response, []byte) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	got := w.Result()
	b, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got, b
}

func TestAllThreeComeOverHTTP(t *testing.T) {
	q := &queue{}
	s := server(t, q, "")
	type request interface {
		MarshalProto() ([]byte, error)
		MarshalJSON() ([]byte, error)
	}
	for path, m := range map[string]request{"/v1/metrics": metrics(1), "/v1/logs": oneLog(), "/v1/traces": oneSpan()} {
		for _, kind := range []string{"application/x-protobuf", "application/json; charset=utf-8"} {
			for _, encoding := range []string{"", "gzip"} {
				encode := m.MarshalProto
				if strings.Contains(kind, "json") {
					encode = m.MarshalJSON
				}
				body, err := encode()
				if err != nil {
					t.Fatal(err)
				}
				if encoding == "gzip" {
					body = zipped(t, body)
				}
				got, answer := post(t, s, path+"?cluster_id=west", body, "Content-Type", kind, "Content-Encoding", encoding)
				rows := q.take()
				if got.StatusCode != http.StatusOK || len(rows) != 1 || rows[0].Cluster != "west" || rows[0].Timestamp != when {
					t.Errorf("%s %s %s: %d %q, %+v", path, kind, encoding, got.StatusCode, answer, rows)
				}
				if want, _, _ := strings.Cut(kind, ";"); got.Header.Get("Content-Type") != want {
					t.Errorf("the answer is of type %s", got.Header.Get("Content-Type"))
				}
			}
		}
	}
}

func zipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestAPartialSuccessOverHTTP(t *testing.T) {
	q := &queue{}
	body, err := metrics(2, 0).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	got, answer := post(t, server(t, q, ""), "/v1/metrics", body, "Content-Type", "application/json")
	m := pmetricotlp.NewExportResponse()
	err = m.UnmarshalJSON(answer)
	if err != nil || got.StatusCode != 200 || m.PartialSuccess().RejectedDataPoints() != 1 {
		t.Errorf("%d %s, %v", got.StatusCode, answer, err)
	}
}

func TestErrorsOverHTTP(t *testing.T) {
	const protobuf = "application/x-protobuf"
	body, err := metrics(1).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	bomb := zipped(t, make([]byte, ingest.MaxRequest+1))
	for name, c := range map[string]struct {
		err    error
		body   []byte
		header []string
		status int
		retry  string
	}{
		"no room":      {intake.ErrFull, body, []string{"Content-Type", protobuf}, 429, "1"},
		"the end":      {intake.ErrClosed, body, []string{"Content-Type", protobuf}, 503, "1"},
		"a full disk":  {store.ErrUnavailable, body, []string{"Content-Type", protobuf}, 503, "1"},
		"no type":      {nil, body, nil, 415, ""},
		"another type": {nil, body, []string{"Content-Type", "text/plain"}, 415, ""},
		"encoding":     {nil, body, []string{"Content-Type", protobuf, "Content-Encoding", "br"}, 415, ""},
		"no gzip":      {nil, body, []string{"Content-Type", protobuf, "Content-Encoding", "gzip"}, 400, ""},
		"no protobuf":  {nil, []byte("{}"), []string{"Content-Type", protobuf}, 400, ""},
		"no JSON":      {nil, []byte("{"), []string{"Content-Type", "application/json"}, 400, ""},
		"too long":     {nil, make([]byte, ingest.MaxRequest+1), []string{"Content-Type", protobuf}, 413, ""},
		"a bomb":       {nil, bomb, []string{"Content-Type", protobuf, "Content-Encoding", "gzip"}, 413, ""},
	} {
		s := server(t, &queue{err: c.err}, "")
		got, answer := post(t, s, "/v1/metrics", c.body, c.header...)
		malformed, busy := c.err == nil, errors.Is(c.err, intake.ErrFull)
		if n := s.Counts(); n.Malformed == 1 != malformed || n.Busy == 1 != busy {
			t.Errorf("%s: it counts as %+v", name, n)
		}
		if got.StatusCode != c.status || got.Header.Get("Retry-After") != c.retry {
			t.Errorf("%s: %d, Retry-After %q", name, got.StatusCode, got.Header.Get("Retry-After"))
		}
		var st spb.Status
		decode := proto.Unmarshal
		if got.Header.Get("Content-Type") == "application/json" {
			decode = protojson.Unmarshal
		}
		if err := decode(answer, &st); err != nil || st.GetMessage() == "" {
			t.Errorf("%s: the answer %q says nothing, %v", name, answer, err)
		}
	}
}

// A body that does not arrive in full may do so when it is sent again.
func TestABodyThatDoesNotArrive(t *testing.T) {
	for kind, decode := range map[string]func([]byte, proto.Message) error{
		"application/x-protobuf": proto.Unmarshal, "application/json": protojson.Unmarshal,
	} {
		for _, why := range []error{os.ErrDeadlineExceeded, io.ErrUnexpectedEOF} {
			s := server(t, &queue{}, "")
			body := io.MultiReader(strings.NewReader("begin"), iotest.ErrReader(why))
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/metrics", body)
			r.Header.Set("Content-Type", kind)
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			var st spb.Status
			err := decode(w.Body.Bytes(), &st)
			if err != nil || w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" ||
				st.GetCode() != int32(codes.Unavailable) || !strings.Contains(st.GetMessage(), "did not arrive in full") {
				t.Errorf("%s, %v: %d, %v, %v", kind, why, w.Code, w.Header(), &st)
			}
		}
	}
}

// The header of a request is bounded.
func TestAHeaderThatIsTooLong(t *testing.T) {
	c := pmetricotlp.NewGRPCClient(dial(t, server(t, &queue{}, "")))
	for size, ok := range map[int]bool{8 << 10: true, 17 << 10: false} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x", strings.Repeat("x", size))
		if _, err := c.Export(ctx, metrics(1)); (err == nil) != ok {
			t.Errorf("a header of %d bytes: %v", size, err)
		}
	}
}

func TestTokensOverHTTP(t *testing.T) {
	q := &queue{}
	s := server(t, q, "writer-1234 write\nreader-1234 read")
	body, err := metrics(1).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]int{"Bearer writer-1234": 200, "Bearer reader-1234": 403, "Bearer wrong": 401, "": 401} {
		got, _ := post(t, s, "/v1/metrics", body, "Content-Type", "application/x-protobuf", "Authorization", token)
		if got.StatusCode != want || (got.Header.Get("WWW-Authenticate") != "") != (want == 401) {
			t.Errorf("%q: %d; want %d", token, got.StatusCode, want)
		}
	}
	if c := s.Counts(); c.Denied != 3 || len(q.take()) != 1 {
		t.Errorf("%+v", c)
	}
}
