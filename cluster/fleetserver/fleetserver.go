// Package fleetserver answers agents over HTTP and gRPC: it takes pushes as OTLP metrics, hands them to a
// health.Fleet, and answers on the response's headers. It has no listener and no command line.
package fleetserver

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// Limits of a server.
const (
	bodyTime  = 5 * time.Second // for a whole request to arrive
	writeTime = 5 * time.Second // for a peer to read the answer
	// maxRequests is how many requests are read at once. Each may take wire.MaxRequest bytes.
	maxRequests = 64
	// busyTime is how long agents wait if there are more.
	busyTime = "1" // second
	tooMany  = "too many pushes at once"
)

// Options of a server.
type Options struct {
	// Token is what an agent must send, as "Authorization: Bearer TOKEN". Empty: none is needed.
	Token string
	// Told is called with each verdict, in order, by Sweep; nil: they are dropped. It must not call the server.
	Told   func(Told)
	Logger *slog.Logger // nil: silent
	// Now is the time since any moment; nil: of the clock. It must never go back.
	Now func() time.Duration
}

// Told is a verdict with the names that its numbers stand for. They are empty if they are not known.
type Told struct {
	health.Verdict
	NodeName, ClusterName string
}

// Server keeps a fleet. Its methods may be called by several goroutines.
type Server struct {
	options Options
	token   [sha256.Size]byte
	slots   chan struct{} // of requests that are being read

	mu       sync.Mutex // guards the rest
	fleet    *health.Fleet
	nodes    names
	clusters names // by cohort
	counts   Counts
	full     uint64 // pushes that were refused because the fleet is full
}

// Counts are what happened since the server was made.
type Counts struct {
	Pushes uint64 // with something of ours, answered
	// Earlier is how many pushes had the published gauges only.
	Earlier uint64
	Polls   uint64
	// Denied is how many requests had no right token, Busy how many came while too many were read.
	Denied, Busy uint64
	Faults       [wire.Faults]uint64    // of what came in
	Refused      [health.Reasons]uint64 // by the fleet
	// Cohorts and Ranks are how many there are now.
	Cohorts, Ranks int
}

// New returns a server without cohorts.
func New(o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Told == nil {
		o.Told = func(Told) {}
	}
	if o.Now == nil {
		began := time.Now()
		epoch := time.Duration(began.UnixNano())
		o.Now = func() time.Duration { return epoch + time.Since(began) }
	}
	return &Server{
		options: o, token: sha256.Sum256([]byte(o.Token)), slots: make(chan struct{}, maxRequests),
		fleet: health.NewFleet(), nodes: names{}, clusters: names{},
	}
}

// Handler answers POST of wire.PushPath, and GET of wire.PollPath and wire.CohortsPath.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+wire.PushPath, s.push)
	mux.HandleFunc("GET "+wire.PollPath, s.poll)
	mux.HandleFunc("GET "+wire.CohortsPath, s.cohorts)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		now := time.Now()
		// Before anything is written: the deadlines of the connection's last request may be over. Not supported
		// by all writers; the server's own limits hold then.
		_ = c.SetReadDeadline(now.Add(bodyTime))
		_ = c.SetWriteDeadline(now.Add(bodyTime + writeTime))
		if !s.allowed(r.Header.Get("Authorization")) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "missing or wrong bearer token", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// allowed reports whether a request has the token, and counts those that have not.
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
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Denied++
	return false
}

// room waits for no other request: it reports whether one more may be read. The caller then calls leave.
func (s *Server) room() bool {
	select {
	case s.slots <- struct{}{}:
		return true
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Busy++
	return false
}

func (s *Server) leave() { <-s.slots }

// push takes a request with pushes. Its answer is to the one push of ours in it; a gateway that puts
// together those of several nodes gets none.
func (s *Server) push(w http.ResponseWriter, r *http.Request) {
	if !s.room() {
		w.Header().Set("Retry-After", busyTime)
		refuse(w, http.StatusServiceUnavailable, tooMany)
		return
	}
	defer s.leave()
	body, code, err := read(w, r)
	if err != nil {
		refuse(w, code, err.Error())
		return
	}
	pushes, err := wire.ParseRequest(body)
	if err != nil {
		s.options.Logger.Debug("push is not accepted", "remote", r.RemoteAddr, "err", err)
	}
	rejected, why := s.take(pushes, err, func(a wire.Answer) error { return a.SetHTTP(w.Header()) })
	if len(pushes) == 0 && err != nil {
		refuse(w, http.StatusBadRequest, why)
		return
	}
	w.Header().Set("Content-Type", wire.TypeProtobuf)
	_, _ = w.Write(wire.AppendResponse(nil, rejected, why)) // the peer has gone
}

// take hands pushes to the fleet and gives the answer to set. It returns how many are not accepted, and why.
// err says what was wrong with others of the same request.
func (s *Server) take(pushes []wire.Push, err error, set func(wire.Answer) error) (rejected int, why string) {
	now := s.options.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		before := sum(s.counts.Faults)
		wire.Count(err, &s.counts.Faults)
		rejected, why = int(sum(s.counts.Faults)-before), err.Error()
	}
	ours := 0
	for i := range pushes {
		if len(pushes[i].Health.Ranks) > 0 {
			ours++
		}
	}
	for i := range pushes {
		p := &pushes[i]
		if len(p.Health.Ranks) == 0 {
			s.counts.Earlier++
			continue
		}
		reply := s.fleet.Push(now, &p.Health)
		if reply == nil {
			rejected++
			why = s.whyRefused()
			continue
		}
		s.counts.Pushes++
		s.nodes.see(p.Health.Node, p.Node, now)
		s.clusters.see(p.Health.Cohort, p.Cluster, now)
		if ours > 1 {
			continue
		}
		if err := set(wire.AnswerTo(reply)); err != nil {
			s.options.Logger.Error("an answer cannot be written", "err", err)
		}
	}
	return rejected, why
}

// whyRefused is why the fleet has just refused a push.
func (s *Server) whyRefused() string {
	full := s.fleet.Refused()[health.RefusedCohorts]
	defer func() { s.full = full }()
	if full > s.full {
		return "the fleet has as many cohorts or ranks as it keeps"
	}
	return "ranks[0].interval: is no time between two steps"
}

func sum(faults [wire.Faults]uint64) (n uint64) {
	for _, f := range faults {
		n += f
	}
	return n
}

// refuse answers as OTLP asks for.
func refuse(w http.ResponseWriter, code int, why string) {
	w.Header().Set("Content-Type", wire.TypeProtobuf)
	w.WriteHeader(code)
	_, _ = w.Write(wire.AppendStatus(nil, why)) // the peer has gone
}

// read reads the body of a push, or says with which status it is refused.
func read(w http.ResponseWriter, r *http.Request) (body []byte, code int, err error) {
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

// readAll is io.ReadAll for what is about size bytes long.
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

// poll answers what agents ask between two pushes.
func (s *Server) poll(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	p, err := wire.ParsePoll(r.URL.RawQuery)
	if err != nil {
		s.mu.Lock()
		wire.Count(err, &s.counts.Faults)
		s.mu.Unlock()
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := s.answer(h, p)
	if err != nil {
		s.options.Logger.Error("an answer cannot be written", "err", err)
		http.Error(w, "the answer cannot be written", http.StatusInternalServerError)
		return
	}
	h.Set("Content-Type", wire.TypeJSON)
	_, _ = w.Write(body) // the peer has gone
}

func (s *Server) answer(h http.Header, p wire.Poll) ([]byte, error) {
	now := s.options.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Polls++
	a := wire.AnswerTo(s.fleet.Poll(now, p.Health))
	if err := (wire.Answer{Threshold: a.Threshold, Quorum: a.Quorum}).SetHTTP(h); err != nil {
		return nil, err
	}
	return wire.FormatAnswer(a) // a.Reply is the fleet's until the next call
}

// Sweep is called every health.PushEvery. It tells what changed.
func (s *Server) Sweep() {
	now := s.options.Now()
	for _, t := range s.sweep(now) {
		s.options.Told(t)
	}
}

func (s *Server) sweep(now time.Duration) []Told {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Told
	for _, v := range s.fleet.Sweep(now, nil) {
		out = append(out, Told{v, s.nodes[v.Node].name, s.clusters[v.Cohort].name})
	}
	s.nodes.forget(now)
	s.clusters.forget(now)
	return out
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

// Counts returns what happened since the server was made.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	c.Refused = s.fleet.Refused()
	c.Cohorts, c.Ranks = s.fleet.Sizes()
	return c
}
