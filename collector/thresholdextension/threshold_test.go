package thresholdextension

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/rawcodec"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/collector/thresholdextension/internal/metadatatest"
)

// push returns a push of a node with one rank of four, whose own work is 0.1 s in each bucket.
func push(rank int32, now time.Duration) wire.Push {
	name := "node-" + string('a'+rank)
	r := health.RankPush{Rank: rank, Newest: 9, Interval: 0.5, Sigma: 0.01, Mode: health.ModeFleet, State: health.Active}
	for i := range r.X {
		r.X[i] = float32(math.Log(0.1))
	}
	return wire.Push{Node: name, Cluster: "c", Health: health.Push{
		Cohort: 7, Node: wire.Node(name), Sent: now, Size: 4, Width: 1, Merge: 1, Ranks: []health.RankPush{r},
	}}
}

// made returns an extension that was not started.
func made(t *testing.T, set component.TelemetrySettings, clusters ...string) *Threshold {
	t.Helper()
	c := defaultConfig().(*Config)
	c.ServerConfig.NetAddr.Endpoint = "localhost:0"
	c.Clusters = clusters
	e, err := newThreshold(c, set)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// wrapped returns the handler of a receiver whose pipeline takes pushes and then answers with a code.
func wrapped(t *testing.T, e *Threshold, code int, pushes ...wire.Push) http.Handler {
	t.Helper()
	wrap, err := e.GetHTTPHandler(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h, err := wrap(t.Context(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, p := range pushes {
			e.Take(r.Context(), []wire.Push{p}, nil)
		}
		if code != http.StatusOK { // otherwise Write does it
			w.WriteHeader(code)
		}
		_, _ = w.Write([]byte("body"))
	}))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func ask(h http.Handler, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

func TestAnswersAreInTheHeadersOfHTTP(t *testing.T) {
	e := made(t, componenttest.NewNopTelemetrySettings())
	for rank, code := range []int{200, 503, 200} {
		w := ask(wrapped(t, e, code, push(int32(rank), time.Hour)), http.MethodPost, wire.PushPath)
		a, err := wire.AnswerOfHTTP(w.Result().Header)
		if err != nil || w.Code != code || w.Body.String() != "body" || a.Reply == nil || a.Quorum != (rank == 2) {
			t.Errorf("%d: %d %+v %v", rank, w.Code, a, err)
		}
	}
	if w := ask(wrapped(t, e, 200), http.MethodPost, wire.PushPath); len(w.Result().Header["X-Ingero-Threshold"]) != 0 {
		t.Errorf("nothing was pushed: %v", w.Result().Header)
	}
	p := wire.Poll{Cluster: "c", Node: "node-a", Health: health.Poll{Cohort: 7, State: health.Suspect}}
	w := ask(wrapped(t, e, 404), http.MethodGet, wire.PollPath+"?"+p.Query())
	if a, err := wire.ParseAnswer(w.Body.Bytes()); w.Code != http.StatusOK || err != nil || !a.Quorum {
		t.Errorf("a poll at the address of pushes: %d %+v %v", w.Code, a, err)
	}
}

// Data for the fleet alone does not pass through the pipeline.
func TestDataIsAnsweredAtOnce(t *testing.T) {
	e := made(t, componenttest.NewNopTelemetrySettings())
	h := wrapped(t, e, http.StatusServiceUnavailable)
	for rank := range int32(3) {
		p := push(rank, time.Hour)
		for gauges, want := range []int{http.StatusOK, http.StatusServiceUnavailable} {
			if gauges == 1 {
				p.Gauges = []wire.Gauges{wire.NoGauges(rank)}
				p.Gauges[0].Score.Health = 0.5
			}
			body, err := wire.AppendRequest(nil, &p)
			if err != nil {
				t.Fatal(err)
			}
			q := httptest.NewRequest(http.MethodPost, wire.PushPath, bytes.NewReader(body))
			q.Header.Set("Content-Type", wire.TypeProtobuf)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, q)
			a, err := wire.AnswerOfHTTP(w.Result().Header)
			if err != nil || w.Code != want || (a.Reply != nil) != (want == http.StatusOK) ||
				a.Quorum != (rank == 2 && gauges == 0) {
				t.Errorf("%d: %d %+v %v", rank, w.Code, a, err)
			}
		}
	}
}

func TestAnswersAreInHeadersAndTrailersOfGRPC(t *testing.T) {
	e := made(t, componenttest.NewNopTelemetrySettings())
	o, err := e.GetGRPCServerOptions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for rank, want := range []codes.Code{codes.OK, codes.Unavailable, codes.OK} {
		s := grpc.NewServer(append(o, grpc.ForceServerCodecV2(rawcodec.Codec{}))...)
		s.RegisterService(&grpc.ServiceDesc{
			ServiceName: "s", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{MethodName: "M", Handler: func(
				_ any, ctx context.Context, read func(any) error, through grpc.UnaryServerInterceptor,
			) (any, error) {
				var in []byte
				if err := read(&in); err != nil {
					return nil, err
				}
				return through(ctx, in, &grpc.UnaryServerInfo{FullMethod: "/s/M"}, func(ctx context.Context, _ any) (any, error) {
					e.Take(ctx, []wire.Push{push(int32(rank), time.Hour)}, nil)
					return &in, status.New(want, "why").Err()
				})
			}}},
		}, e)
		header, trailer, code := call(t, s)
		a, err := wire.AnswerOfGRPC(header)
		if want == codes.OK && (err != nil || a.Reply == nil || a.Quorum != (rank == 2)) {
			t.Errorf("%d: headers %v, %v", rank, header, err)
		}
		if a, err = wire.AnswerOfGRPC(trailer); err != nil || a.Reply == nil || a.Quorum != (rank == 2) || code != want {
			t.Errorf("%d: %s, trailers %v, %v", rank, code, trailer, err)
		}
	}
}

// call serves s, and calls its method once.
func call(t *testing.T, s *grpc.Server) (header, trailer metadata.MD, code codes.Code) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawcodec.Codec{})))
	if err != nil {
		t.Fatal(err)
	}
	var in, out []byte
	err = conn.Invoke(t.Context(), "/s/M", &in, &out, grpc.Header(&header), grpc.Trailer(&trailer))
	if closed := conn.Close(); closed != nil {
		t.Error(closed)
	}
	s.Stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	return header, trailer, status.Code(err)
}

func TestAnAnswerThatComesLate(t *testing.T) {
	r := &response{write: func(a wire.Answer, fields map[string][]string) error { return a.SetHTTP(fields) }}
	if err := r.set(wire.Answer{Threshold: 0.9}); err != nil || len(r.end()) != 2 {
		t.Errorf("%v", err)
	}
	if err := r.set(wire.Answer{Threshold: 0.9}); !errors.Is(err, errEnded) {
		t.Errorf("%v", err)
	}
}

func TestServesWhatTheFleetKnows(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	set := componenttest.NewNopTelemetrySettings()
	set.Logger = zap.New(core)
	e := made(t, set)
	if err := e.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	at := "http://" + logs.FilterMessage("what the fleet knows is served").All()[0].ContextMap()["at"].(string)
	for rank := range int32(3) {
		e.Take(t.Context(), []wire.Push{push(rank, time.Hour)}, nil)
	}
	for path, want := range map[string]string{
		"/": "<p>3 of 4 ranks push</p>", "/api/v1/cohorts": `"cluster_id":"c","cohort":"0000000000000007","ranks":4,"live":3`,
		"/api/v1/threshold": `{"quorum_met":false}`, "/api/v1/openapi.json": `"openapi": "3.1.0"`, "/other": "404",
	} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r.Body)
		if err != nil || r.Body.Close() != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v, %s", path, err, b)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAPortThatIsTaken(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // nothing was served
	e := made(t, componenttest.NewNopTelemetrySettings())
	e.config.ServerConfig.NetAddr.Endpoint = l.Addr().String()
	if err := e.Start(t.Context(), componenttest.NewNopHost()); err == nil || !strings.Contains(err.Error(), "listen at "+l.Addr().String()) {
		t.Errorf("%v", err)
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestMetrics(t *testing.T) {
	tel := componenttest.NewTelemetry()
	e := made(t, tel.NewTelemetrySettings(), "c")
	if err := e.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	for rank := range int32(3) {
		e.Take(t.Context(), []wire.Push{push(rank, time.Hour)}, nil)
	}
	other := push(3, time.Hour)
	other.Cluster = "d"
	e.Take(t.Context(), []wire.Push{other}, &wire.Error{Fault: wire.Limit})
	same := metricdatatest.IgnoreTimestamp()
	of := func(key, value string) attribute.Set { return attribute.NewSet(attribute.String(key, value)) }
	metadatatest.AssertEqualActiveNodes(t, tel, []metricdata.DataPoint[int64]{{Value: 3, Attributes: of("cluster_id", "c")}}, same)
	metadatatest.AssertEqualThreshold(t, tel, []metricdata.DataPoint[float64]{{Value: health.SlowScore(), Attributes: of("cluster_id", "c")}}, same)
	metadatatest.AssertEqualMedian(t, tel, []metricdata.DataPoint[float64]{{Value: 1, Attributes: of("cluster_id", "c")}}, same)
	metadatatest.AssertEqualCoverageLow(t, tel, []metricdata.DataPoint[int64]{{Value: 0, Attributes: of("cluster_id", "c")}}, same)
	metadatatest.AssertEqualCohorts(t, tel, []metricdata.DataPoint[int64]{{Value: 1}}, same)
	metadatatest.AssertEqualUnanswered(t, tel, []metricdata.DataPoint[int64]{{Value: 3}}, same)
	metadatatest.AssertEqualRequests(t, tel, []metricdata.DataPoint[int64]{
		{Value: 3, Attributes: of("what", "pushed")},
		{Value: 1, Attributes: of("what", "foreign")},
		{Value: 0, Attributes: of("what", "polled")},
		{Value: 0, Attributes: of("what", "pushed_published_gauges")},
	}, same)
	metadatatest.AssertEqualFaults(t, tel, []metricdata.DataPoint[int64]{
		{Value: 0, Attributes: of("fault", "malformed")},
		{Value: 0, Attributes: of("fault", "version")},
		{Value: 1, Attributes: of("fault", "limit")},
		{Value: 0, Attributes: of("fault", "value")},
	}, same)
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := tel.Shutdown(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

// A node that becomes silent is logged and counted once.
func TestVerdicts(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	tel := componenttest.NewTelemetry()
	set := tel.NewTelemetrySettings()
	set.Logger = zap.New(core)
	synctest.Test(t, func(t *testing.T) {
		e := made(t, set)
		ctx, stop := context.WithCancel(t.Context())
		e.running.Go(func() { e.fleet.Run(ctx) })
		for tick := range 12 {
			for rank := range int32(4) {
				if rank != 2 || tick < 5 {
					e.Take(t.Context(), []wire.Push{push(rank, time.Duration(time.Now().UnixNano()))}, nil)
				}
			}
			time.Sleep(health.PushEvery)
		}
		stop()
		e.running.Wait()
	})
	all := logs.FilterMessage("verdict").All()
	if len(all) != 1 {
		t.Fatalf("%v", all)
	}
	line, err := zapJSON(all[0].ContextMap()["event"])
	if err != nil || !strings.Contains(line, `"type":"missing"`) || !strings.Contains(line, `"node_id":"node-c"`) {
		t.Errorf("%s %v", line, err)
	}
	metadatatest.AssertEqualVerdicts(t, tel, []metricdata.DataPoint[int64]{
		{Value: 1, Attributes: attribute.NewSet(attribute.String("kind", "missing"))},
	}, metricdatatest.IgnoreTimestamp())
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func zapJSON(v any) (string, error) {
	raw, ok := v.(interface{ MarshalJSON() ([]byte, error) })
	if !ok {
		return "", errors.New("it is no JSON")
	}
	b, err := raw.MarshalJSON()
	return string(b), err
}

func TestConfig(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                     "",
		"clusters: [east, west]": "",
		"endpoint: ''":           "endpoint: is missing",
		"clusters: [a, '']":      "clusters[1]: is empty",
		"clusters: [a, b, a]":    `clusters[2]: "a" is there twice`,
		"other: 1":               "other: there is no such setting",
		"{endpoint: ':1', read_timeout: 1s, auth: {authenticator: b}}": "",
		"clusters: ['" + long + "']":                                   "clusters[0]: has 257 bytes; 256 at most",
	} {
		r, err := confmap.NewRetrievedFromYAML([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		conf, err := r.AsConf()
		if err != nil {
			t.Fatal(err)
		}
		c := defaultConfig()
		if err = conf.Unmarshal(c); err == nil {
			err = confmap.Validate(c)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

var long = strings.Repeat("x", 257)
