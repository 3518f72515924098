package ingest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/ingero-io/ingero/cluster/rawcodec"

	_ "google.golang.org/grpc/encoding/gzip" // exporters may use it
)

const (
	handshakeTime = 5 * time.Second
	// maxStreams is how many requests a connection may have in flight.
	maxStreams = 32
	maxHeader  = 16 << 10 // bytes
)

// alive closes connections that are dead, as their requests would keep their room, or have no requests.
var alive = keepalive.ServerParameters{
	Time: 30 * time.Second, Timeout: 10 * time.Second, MaxConnectionIdle: 10 * time.Minute,
}

// GRPC returns a server that takes requests, with options such as credentials.
func (s *Server) GRPC(o ...grpc.ServerOption) *grpc.Server {
	g := grpc.NewServer(append(o, grpc.ForceServerCodecV2(rawcodec.Codec{}), grpc.MaxRecvMsgSize(MaxRequest),
		grpc.ConnectionTimeout(handshakeTime), grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHeader),
		grpc.InTapHandle(s.tap), grpc.StatsHandler(leaver{s}), grpc.KeepaliveParams(alive))...)
	for i := range signals {
		sig := &signals[i]
		g.RegisterService(&grpc.ServiceDesc{
			ServiceName: sig.service, HandlerType: (*any)(nil),
			Methods: []grpc.MethodDesc{{MethodName: "Export", Handler: s.export(sig)}},
		}, s)
	}
	return g
}

// tap checks the token and the room before the request's body is read.
func (s *Server) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	authorization := ""
	if list := info.Header["authorization"]; len(list) > 0 {
		authorization = list[0]
	}
	if err := s.mayWrite(authorization); err != nil {
		return nil, err
	}
	if !known(info.FullMethodName) { // refused without being read
		return ctx, nil
	}
	if err := ctx.Err(); err != nil { // its deadline had passed when it came
		s.busy.Add(1)
		return nil, status.FromContextError(err).Err()
	}
	if !s.enter() {
		return nil, later(codes.ResourceExhausted, "too many requests at once")
	}
	in := &inside{leave: sync.OnceFunc(s.leave)}
	context.AfterFunc(ctx, in.leave) // also if it ends before it is handled, which the stats handler does not see
	return context.WithValue(ctx, insideKey{}, in), nil
}

// inside is a request that tap let in.
type inside struct {
	leave func()
	read  atomic.Bool // its body was; a body that is too long never is
}

type insideKey struct{}

func known(method string) bool {
	return slices.ContainsFunc(signals, func(sig signal) bool { return "/"+sig.service+"/Export" == method })
}

// export answers a request. Its metadata may name the cluster of rows without one.
func (s *Server) export(sig *signal) grpc.MethodHandler {
	return func(_ any, ctx context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		var body []byte
		if err := read(&body); err != nil {
			return nil, err
		}
		if in, ok := ctx.Value(insideKey{}).(*inside); ok {
			in.read.Store(true)
		}
		cluster := ""
		if list := metadata.ValueFromIncomingContext(ctx, "ingero-cluster-id"); len(list) > 0 {
			cluster = list[0]
		}
		out, err := s.takeRequest(ctx, sig, body, false, cluster)
		if err != nil {
			return nil, err
		}
		return &out, nil
	}
}

// leaver frees the room of requests that tap let in, as soon as they are answered. It counts those that gRPC itself
// refuses because it cannot read them.
type leaver struct{ server *Server }

// TagRPC implements stats.Handler.
func (leaver) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (l leaver) HandleRPC(ctx context.Context, s stats.RPCStats) {
	in, ok := ctx.Value(insideKey{}).(*inside)
	end, ends := s.(*stats.End)
	if !ok || !ends {
		return
	}
	in.leave()
	if in.read.Load() {
		return
	}
	switch status.Code(end.Error) {
	case codes.Canceled, codes.DeadlineExceeded: // the sender has gone
	default:
		l.server.malformed.Add(1)
	}
}

// TagConn implements stats.Handler.
func (leaver) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (leaver) HandleConn(context.Context, stats.ConnStats) {}
