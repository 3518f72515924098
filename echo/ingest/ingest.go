// Package ingest takes what OpenTelemetry's exporters send, metrics, logs and spans, over gRPC and HTTP, and answers
// when it is kept. It has no listener and no command line.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ingero-io/ingero/echo/access"
	"github.com/ingero-io/ingero/echo/intake"
	"github.com/ingero-io/ingero/echo/otlp"
	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/store"
)

const (
	// MaxRequest is how long a request may be, in bytes, also after it is unpacked. It is what gRPC allows by default,
	// so that senders know it.
	MaxRequest = 4 << 20
	// maxRequests is how many may be in memory at a time.
	maxRequests = 96
	// knownBytes is how much memory the series take that came last.
	knownBytes = 64 << 20
	// retryAfter is how long senders wait when there is no room.
	retryAfter = time.Second
)

// Queue keeps rows, or says why not: intake.Queue.
type Queue interface {
	Put(ctx context.Context, rows []row.Row) error
}

// Options of a server.
type Options struct {
	Queue  Queue
	Tokens *access.Tokens
	// Now is the time at which requests come; nil: the clock's.
	Now    func() time.Time
	Logger *slog.Logger // nil: silent
}

// Server takes requests. Its methods may be called by several goroutines.
type Server struct {
	options Options
	known   *otlp.Known
	work    chan struct{} // one for each request that is read into rows
	inside  atomic.Int64  // requests in memory

	requests, points, refused, malformed, denied, busy atomic.Int64
}

// Counts are what came since the start.
type Counts struct {
	Requests, Points int64
	// Refused are points that cannot be kept. The others are requests: Malformed cannot be read, Denied have no right
	// token, and for Busy there was no room.
	Refused, Malformed, Denied, Busy int64
}

// New makes a server.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Server{
		options: o, known: otlp.NewKnown(knownBytes), work: make(chan struct{}, 2*runtime.GOMAXPROCS(0)),
	}
}

// Counts returns what came.
func (s *Server) Counts() Counts {
	return Counts{
		Requests: s.requests.Load(), Points: s.points.Load(), Refused: s.refused.Load(), Malformed: s.malformed.Load(),
		Denied: s.denied.Load(), Busy: s.busy.Load(),
	}
}

// take keeps what is in a request, and returns the answer's bytes. Errors have a status for gRPC.
func (s *Server) take(ctx context.Context, sig *signal, body []byte, json bool, cluster string) ([]byte, error) {
	s.requests.Add(1)
	result, err := s.rows(ctx, sig, body, json, cluster)
	if err != nil {
		return nil, err
	}
	s.points.Add(int64(len(result.Rows)) + result.Refused)
	s.refused.Add(result.Refused)
	if result.Refused > 0 {
		s.options.Logger.Debug("points are refused", "points", result.Refused, "why", result.Why)
	}
	if err := s.options.Queue.Put(ctx, result.Rows); err != nil {
		return nil, s.notKept(err)
	}
	return sig.answer(json, result.Refused, result.Why)
}

// rows reads a request. Only some are read at a time, as each takes some times its own size.
func (s *Server) rows(ctx context.Context, sig *signal, body []byte, json bool, cluster string) (otlp.Result, error) {
	select {
	case s.work <- struct{}{}:
		defer func() { <-s.work }()
	case <-ctx.Done():
		return otlp.Result{}, status.FromContextError(ctx.Err()).Err()
	}
	result, err := sig.rows(json, body, otlp.Options{
		Received: s.options.Now().UnixNano(), Cluster: cluster, Known: s.known,
	})
	if err != nil {
		s.malformed.Add(1)
		return otlp.Result{}, status.Errorf(codes.InvalidArgument, "the request cannot be read: %v", err)
	}
	return result, nil
}

// notKept is the answer to a request of which nothing is kept.
func (s *Server) notKept(err error) error {
	switch {
	case errors.Is(err, intake.ErrFull):
		s.busy.Add(1)
		return later(codes.ResourceExhausted, err.Error())
	case errors.Is(err, intake.ErrClosed):
		return later(codes.Unavailable, err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	}
	s.options.Logger.Error("points cannot be kept", "err", err)
	if errors.Is(err, store.ErrUnavailable) {
		return later(codes.Unavailable, "points cannot be kept now")
	}
	return later(codes.Unavailable, fmt.Sprintf("points cannot be kept: %v", err))
}

// later says that the same request may be sent again, and when.
func later(code codes.Code, why string) error {
	st, err := status.New(code, why).WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(retryAfter)})
	if err != nil {
		return status.Error(code, why) // without the time
	}
	return st.Err()
}

// enter reports whether one more request may be in memory. The caller then calls leave.
func (s *Server) enter() bool {
	if s.inside.Add(1) <= maxRequests {
		return true
	}
	s.inside.Add(-1)
	s.busy.Add(1)
	return false
}

func (s *Server) leave() { s.inside.Add(-1) }

// mayWrite is nil if the sender of a header may write.
func (s *Server) mayWrite(authorization string) error {
	switch scope := s.options.Tokens.Of(authorization); {
	case scope == 0:
		s.denied.Add(1)
		return status.Error(codes.Unauthenticated, "missing or wrong bearer token")
	case scope&access.Write == 0:
		s.denied.Add(1)
		return status.Error(codes.PermissionDenied, "this token may not write")
	}
	return nil
}
