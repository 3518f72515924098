package fleetserver

import (
	"context"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ingero-io/ingero/cluster/rawcodec"
	"github.com/ingero-io/ingero/cluster/wire"

	_ "google.golang.org/grpc/encoding/gzip" // stock exporters may compress
)

// maxStreams is how many requests a connection may have in flight.
const maxStreams = 64

// GRPC returns a server that takes pushes by the method wire.PushMethod. o may add options such as credentials.
// Answers are in the response's headers.
func (s *Server) GRPC(o ...grpc.ServerOption) *grpc.Server {
	g := grpc.NewServer(append(o, grpc.ForceServerCodecV2(rawcodec.Codec{}), grpc.MaxRecvMsgSize(wire.MaxRequest),
		grpc.ConnectionTimeout(bodyTime), grpc.MaxConcurrentStreams(maxStreams), grpc.InTapHandle(s.tap))...)
	g.RegisterService(&grpc.ServiceDesc{
		ServiceName: "opentelemetry.proto.collector.metrics.v1.MetricsService", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Export", Handler: s.export}},
	}, s)
	return g
}

// tap checks the token before the request's body is read.
func (s *Server) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	authorization := ""
	if list := info.Header["authorization"]; len(list) > 0 {
		authorization = list[0]
	}
	if !s.allowed(authorization) {
		return nil, status.Error(codes.Unauthenticated, "missing or wrong bearer token")
	}
	return ctx, nil
}

// export answers a request with pushes, as push does over HTTP.
func (s *Server) export(_ any, ctx context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	var body []byte
	if err := read(&body); err != nil {
		return nil, err
	}
	size := max(leastReading, int64(len(body)))
	if !s.room(size) {
		busy, err := status.New(codes.Unavailable, tooMany).WithDetails(&errdetails.RetryInfo{
			RetryDelay: durationpb.New(time.Second),
		})
		if err != nil {
			return nil, status.Error(codes.Unavailable, tooMany)
		}
		return nil, busy.Err()
	}
	defer s.leave(size)
	pushes, err := wire.ParseRequest(body)
	if err != nil {
		s.options.Logger.Debug("push is not accepted", "err", wire.First(err))
	}
	header := metadata.MD{}
	t := s.Take("", pushes, err, func(a wire.Answer) error { return a.SetGRPC(header) })
	if err := grpc.SetHeader(ctx, header); err != nil {
		s.options.Logger.Error("an answer cannot be written", "err", err)
	}
	if len(pushes) == 0 && err != nil {
		return nil, status.Error(codes.InvalidArgument, t.Why)
	}
	out := wire.AppendResponse(nil, t.Rejected, t.Why)
	return &out, nil
}
