// Package fleetserver answers agents over HTTP and gRPC: it takes pushes as OTLP metrics, hands them to a
// health.Fleet, and answers in the response's headers. It has no listener and no command line.
package fleetserver

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ingero-io/ingero/cluster/cohorts"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// Limits of a server.
const (
	bodyTime  = 5 * time.Second // for a whole request to arrive
	writeTime = 5 * time.Second // for a peer to take the answer
	// maxReading is how many bytes of requests are read at once. It bounds memory, not the number of requests: many
	// agents may push at the same moment, and refusing a push costs as much as answering it.
	maxReading = 64 * wire.MaxRequest
	// leastReading is the least that a request counts, since reading it takes memory too.
	leastReading = 4 << 10
	// busyTime is how long agents are asked to wait if there are more.
	busyTime = "1" // second
	tooMany  = "too many pushes at once"
)

// OpenAPIPath is where the API's description is served, in OpenAPI 3.1.
const OpenAPIPath = "/api/v1/openapi.json"

//go:embed openapi.json
var openAPI []byte

// Options of a server.
type Options struct {
	// Token is what an agent must send, as "Authorization: Bearer TOKEN". Empty: none is needed.
	Token string
	// Clusters are those whose pushes are accepted; empty: all.
	Clusters []string
	// Told is called by Sweep with each verdict, in order; nil: verdicts are dropped. It must not call the server.
	Told   func(Told)
	Logger *slog.Logger // nil: silent
	// Now returns the time since any moment; nil: the clock is used. It must never go back.
	Now func() time.Duration
	// Wall returns the time by the clock, which may be set; nil: of the system. Pushes of the far future are refused.
	Wall func() time.Time
}

// Told is a verdict with the names of its node and cluster.
type Told = cohorts.Told

// Server answers from its state of cohorts. Its methods may be called by several goroutines.
type Server struct {
	options Options
	token   [sha256.Size]byte
	state   *cohorts.State

	reading      atomic.Int64 // of requests being read
	denied, busy atomic.Uint64
}

// Counts are totals since the server was made.
type Counts struct {
	cohorts.Counts
	// Denied counts requests without the right token, Busy those refused because too many were being read.
	Denied, Busy uint64
}

// New returns a server without cohorts.
func New(o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Told == nil {
		o.Told = func(Told) {}
	}
	if o.Wall == nil {
		o.Wall = time.Now
	}
	if o.Now == nil {
		began := time.Now()
		epoch := time.Duration(began.UnixNano())
		o.Now = func() time.Duration { return epoch + time.Since(began) }
	}
	return &Server{options: o, token: sha256.Sum256([]byte(o.Token)), state: cohorts.New(o.Clusters...)}
}

// Handler answers POST of wire.PushPath, and GET of wire.PollPath, wire.CohortsPath and OpenAPIPath.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+wire.PushPath, s.push)
	s.reads(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		now := time.Now()
		// Before anything is written: the deadlines of the connection's last request may have passed. A writer that does
		// not support this keeps the server's own limits.
		_ = c.SetReadDeadline(now.Add(bodyTime))
		_ = c.SetWriteDeadline(now.Add(bodyTime + writeTime))
		if !s.allowed(r.Header.Get("Authorization")) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "missing or wrong bearer token", http.StatusUnauthorized)
			return
		}
		if r.Method == http.MethodPost && r.URL.Path == wire.PushPath { // nearly all requests
			s.push(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// Reads answers GET of wire.PollPath, wire.CohortsPath and OpenAPIPath. It needs no token.
func (s *Server) Reads() http.Handler {
	mux := http.NewServeMux()
	s.reads(mux)
	return mux
}

func (s *Server) reads(mux *http.ServeMux) {
	mux.HandleFunc("GET "+wire.PollPath, s.poll)
	mux.HandleFunc("GET "+wire.CohortsPath, s.list)
	mux.HandleFunc("GET "+OpenAPIPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", wire.TypeJSON)
		_, _ = w.Write(openAPI) // on error the peer has gone
	})
}

// allowed reports whether a request has the token, and counts those without.
func (s *Server) allowed(authorization string) bool {
	if s.options.Token == "" {
		return true
	}
	kind, token, _ := strings.Cut(authorization, " ")
	got := sha256.Sum256([]byte(strings.TrimSpace(token)))
	// Equal lengths, so that the time does not depend on the token.
	if subtle.ConstantTimeCompare(got[:], s.token[:]) == 1 && strings.EqualFold(kind, "Bearer") {
		return true
	}
	s.denied.Add(1)
	return false
}

// room reports whether a request of size bytes may be read now. If so, the caller then calls leave with the same
// size. It does not wait: thousands of waiting connections would hold up the others.
func (s *Server) room(size int64) bool {
	if s.reading.Add(size) <= maxReading {
		return true
	}
	s.leave(size)
	s.busy.Add(1)
	return false
}

func (s *Server) leave(size int64) { s.reading.Add(-size) }

// sizeOf returns how many bytes a request may take: wire.MaxRequest if it does not say.
func sizeOf(r *http.Request) int64 {
	if r.ContentLength < 0 || r.Header.Get("Content-Encoding") != "" {
		return wire.MaxRequest
	}
	return max(leastReading, min(r.ContentLength, wire.MaxRequest))
}

// push answers a request with pushes. It answers the one push with ranks in it; a gateway that joins the pushes of
// several nodes gets no answer.
func (s *Server) push(w http.ResponseWriter, r *http.Request) {
	size := sizeOf(r)
	if !s.room(size) {
		refuseBusy(w)
		return
	}
	defer s.leave(size)
	body, code, err := readBody(w, r)
	if err != nil {
		refuse(w, code, err.Error())
		return
	}
	pushes, err := wire.ParseRequest(body)
	if err != nil {
		s.options.Logger.Debug("push is not accepted", "remote", r.RemoteAddr, "err", wire.First(err))
	}
	t := s.Take(ClusterOf(r), pushes, err, func(a wire.Answer) error { return a.SetHTTP(w.Header()) })
	if len(pushes) == 0 && err != nil {
		refuse(w, http.StatusBadRequest, t.Why)
		return
	}
	w.Header().Set("Content-Type", wire.TypeProtobuf)
	_, _ = w.Write(wire.AppendResponse(nil, t.Rejected, t.Why)) // on error the peer has gone
}

// ClusterOf returns the cluster of pushes that name none: the one of the request's address, if it is a name.
func ClusterOf(r *http.Request) string {
	if r.URL.RawQuery == "" {
		return ""
	}
	cluster := r.URL.Query().Get("cluster_id")
	if wire.CheckCluster(cluster) != nil {
		return ""
	}
	return cluster
}

// Take hands the pushes of a request to the fleet and calls set with the answer, as cohorts.State does. cluster is
// that of pushes that name none.
func (s *Server) Take(
	cluster string, pushes []wire.Push, err error, set func(wire.Answer) error,
) cohorts.Taken {
	t := s.state.Take(cohorts.Request{
		Now: s.options.Now(), Wall: time.Duration(s.options.Wall().UnixNano()), Cluster: cluster, Pushes: pushes, Err: err,
	}, set)
	if t.Failed != nil {
		s.options.Logger.Error("an answer cannot be written", "err", t.Failed)
	}
	return t
}

func refuseBusy(w http.ResponseWriter) {
	w.Header().Set("Retry-After", busyTime)
	refuse(w, http.StatusServiceUnavailable, tooMany)
}

// refuse answers with an error, as OTLP specifies.
func refuse(w http.ResponseWriter, code int, why string) {
	w.Header().Set("Content-Type", wire.TypeProtobuf)
	w.WriteHeader(code)
	_, _ = w.Write(wire.AppendStatus(nil, why)) // on error the peer has gone
}

// readBody reads the body of a push, or returns the status with which it is refused.
func readBody(w http.ResponseWriter, r *http.Request) (body []byte, code int, err error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != wire.TypeProtobuf {
		return nil, http.StatusUnsupportedMediaType, errors.New("pushes are of the type " + wire.TypeProtobuf)
	}
	var from io.Reader = http.MaxBytesReader(w, r.Body, wire.MaxRequest)
	switch r.Header.Get("Content-Encoding") {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(from)
		if err != nil {
			return nil, http.StatusBadRequest, errors.New("the body is not of gzip")
		}
		from = io.LimitReader(z, wire.MaxRequest+1)
	default:
		return nil, http.StatusUnsupportedMediaType, errors.New("the body may be compressed with gzip only")
	}
	size := 1 << 10
	if r.ContentLength > 0 {
		size = int(min(r.ContentLength, wire.MaxRequest)) + 1
	}
	body, err = readAll(from, size)
	if _, long := errors.AsType[*http.MaxBytesError](err); long || len(body) > wire.MaxRequest {
		return nil, http.StatusRequestEntityTooLarge, errors.New("the request is too long")
	}
	if err != nil {
		return nil, http.StatusBadRequest, errors.New("the request did not arrive in full")
	}
	return body, 0, nil
}

// readAll is io.ReadAll with a guess of the size, in bytes.
func readAll(from io.Reader, size int) ([]byte, error) {
	b := make([]byte, 0, size)
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := from.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

// poll answers polls, which agents send between two pushes.
func (s *Server) poll(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	p, err := wire.ParsePoll(r.URL.RawQuery)
	if err != nil {
		s.state.Fault(err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var body []byte
	err = s.state.Poll(s.options.Now(), p, func(a wire.Answer) error {
		if err := (wire.Answer{Threshold: a.Threshold, Quorum: a.Quorum}).SetHTTP(h); err != nil {
			return err
		}
		var err error
		body, err = wire.FormatAnswer(a)
		return err
	})
	if err != nil {
		s.options.Logger.Error("an answer cannot be written", "err", err)
		http.Error(w, "the answer cannot be written", http.StatusInternalServerError)
		return
	}
	h.Set("Content-Type", wire.TypeJSON)
	_, _ = w.Write(body) // on error the peer has gone
}

// list answers with what the fleet knows; with cluster_id in the query, of that cluster only.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	body, err := json.Marshal(s.Cohorts(r.URL.Query().Get("cluster_id")))
	if err != nil {
		s.options.Logger.Error("the list of cohorts cannot be written", "err", err)
		http.Error(w, "the list cannot be written", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", wire.TypeJSON)
	_, _ = w.Write(body) // on error the peer has gone
}

// Cohorts returns what the fleet knows; if cluster is not empty, of that cluster only.
func (s *Server) Cohorts(cluster string) wire.CohortList {
	return s.state.List(s.options.Now(), cluster)
}

// Middles returns the middles of at most most cohorts. whole is false if there are more.
func (s *Server) Middles(most int) (list []cohorts.Middle, whole bool) {
	return s.state.Middles(s.options.Now(), most)
}

// Sweep is called every health.PushEvery. It reports what changed to Options.Told.
func (s *Server) Sweep() {
	for _, t := range s.state.Sweep(s.options.Now()) {
		s.options.Told(t)
	}
}

// Run sweeps until ctx ends.
func (s *Server) Run(ctx context.Context) {
	tick := time.NewTicker(health.PushEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.Sweep()
		}
	}
}

// Counts returns totals since the server was made.
func (s *Server) Counts() Counts {
	return Counts{Counts: s.state.Counts(), Denied: s.denied.Load(), Busy: s.busy.Load()}
}
