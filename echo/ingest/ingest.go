// Package ingest takes metrics, logs and spans from OpenTelemetry exporters over gRPC and HTTP, and answers when they
// are stored. It has no listener and no command line.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
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
	// MaxRequest bounds a request in bytes, compressed or not. It is gRPC's default, which senders know.
	MaxRequest = 4 << 20
	// maxRequests is how many requests may be in memory.
	maxRequests = 96
	// maxWork is of how many bytes of requests there may be rows that are not in the queue: two of the longest.
	maxWork = 2 * MaxRequest
	// knownBytes bounds the memory of recently seen series.
	knownBytes = 64 << 20
	// retryAfter is how long senders are asked to wait when there is no room.
	retryAfter = time.Second
)

// Queue takes rows, or returns why it cannot, and then whether they are stored: intake.Queue.
type Queue interface {
	Enter(ctx context.Context, since time.Time, rows []row.Row) (stored func(context.Context) error, err error)
}

// Options of a server.
type Options struct {
	Queue  Queue
	Tokens *access.Tokens
	// Now returns the time of arrival of a request; nil: the clock's.
	Now    func() time.Time
	Logger *slog.Logger // nil: silent
}

// Server takes requests. Its methods may be called by several goroutines.
type Server struct {
	options Options
	known   *otlp.Known
	work    *semaphore.Weighted // bytes of the requests whose rows are made, or wait for room; see weight
	inside  atomic.Int64        // requests in memory

	requests, points, refused, leftOut, malformed, denied, busy atomic.Int64
}

// Counts are totals since the start.
type Counts struct {
	Requests, Points int64
	// Refused counts points that cannot be stored, LeftOut parts without which others are: see otlp.Result. The others
	// count requests: Malformed ones cannot be read, or are too long, Denied ones have no valid token, and Busy ones found
	// no room in their time.
	Refused, LeftOut, Malformed, Denied, Busy int64
}

// New returns a server.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Server{options: o, known: otlp.NewKnown(knownBytes), work: semaphore.NewWeighted(maxWork)}
}

// Counts returns the totals since the start.
func (s *Server) Counts() Counts {
	return Counts{
		Requests: s.requests.Load(), Points: s.points.Load(), Refused: s.refused.Load(), LeftOut: s.leftOut.Load(),
		Malformed: s.malformed.Load(), Denied: s.denied.Load(), Busy: s.busy.Load(),
	}
}

// takeRequest stores what is in a request, and returns the answer's bytes. Errors have a gRPC status.
func (s *Server) takeRequest(ctx context.Context, sig *signal, body []byte, json bool, cluster string) ([]byte, error) {
	s.requests.Add(1)
	result, stored, err := s.queue(ctx, sig, body, json, cluster)
	if err != nil {
		return nil, err
	}
	if err := stored(ctx); err != nil {
		return nil, s.notKept(err)
	}
	return sig.answer(json, result.Refused, result.Why)
}

// weight is what a request of some bytes takes of maxWork: at most two for each CPU are converted at a time.
func weight(bytes int) int64 { return int64(max(bytes, maxWork/(2*runtime.GOMAXPROCS(0)))) }

// queue converts a request to rows, which enter the queue. Only some do that at a time, since rows take many times the
// size of the request, and only those in the queue are bounded otherwise.
func (s *Server) queue(ctx context.Context, sig *signal, body []byte, json bool, cluster string,
) (result otlp.Result, stored func(context.Context) error, err error) {
	begin, takes := time.Now(), weight(len(body))
	if err = s.work.Acquire(ctx, takes); err != nil {
		s.busy.Add(1)
		return otlp.Result{}, nil, status.FromContextError(err).Err()
	}
	defer s.work.Release(takes)
	result, err = sig.rows(json, body, otlp.Options{
		Received: s.options.Now().UnixNano(), Cluster: cluster, Known: s.known,
	})
	if err != nil {
		s.malformed.Add(1)
		return otlp.Result{}, nil, status.Errorf(codes.InvalidArgument, "the request cannot be read: %v", err)
	}
	s.points.Add(int64(len(result.Rows)) + result.Refused)
	s.refused.Add(result.Refused)
	s.leftOut.Add(result.LeftOut)
	if result.Refused > 0 {
		s.options.Logger.Debug("points are refused", "points", result.Refused, "why", result.Why)
	}
	if stored, err = s.options.Queue.Enter(ctx, begin, result.Rows); err != nil {
		return otlp.Result{}, nil, s.notKept(err)
	}
	return result, stored, nil
}

// notKept returns the answer to a request that was not stored.
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

// later returns an error that asks the sender to retry, and when.
func later(code codes.Code, why string) error {
	st, err := status.New(code, why).WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(retryAfter)})
	if err != nil {
		return status.Error(code, why) // without the time
	}
	return st.Err()
}

// enter reports whether there is room for another request. If so, the caller later calls leave.
func (s *Server) enter() bool {
	if s.inside.Add(1) <= maxRequests {
		return true
	}
	s.inside.Add(-1)
	s.busy.Add(1)
	return false
}

func (s *Server) leave() { s.inside.Add(-1) }

// mayWrite returns nil if the sender of an Authorization header may write.
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
