package fleetclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ingero-io/ingero/cluster/rawcodec"
	"github.com/ingero-io/ingero/cluster/wire"
)

// overGRPC sends pushes over gRPC.
type overGRPC struct {
	conn  *grpc.ClientConn
	token string
}

func newGRPC(host, token string, conf *tls.Config, secure bool) (*overGRPC, error) {
	creds := insecure.NewCredentials()
	if secure {
		if conf == nil {
			conf = &tls.Config{MinVersion: tls.VersionTLS13}
		}
		creds = credentials.NewTLS(conf)
	}
	conn, err := grpc.NewClient("passthrough:///"+host, grpc.WithTransportCredentials(creds), grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawcodec.Codec{}),
			grpc.MaxCallRecvMsgSize(maxBody)), grpc.WithMaxHeaderListSize(maxHeader))
	if err != nil {
		return nil, fmt.Errorf("prepare gRPC to the fleet: %w", err)
	}
	return &overGRPC{conn, token}, nil
}

func (g *overGRPC) close() { _ = g.conn.Close() } // nothing is in flight

// push sends a push once. An error is a network error.
func (g *overGRPC) push(ctx context.Context, _ string, body []byte) (outcome, error) {
	if g.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+g.token)
	}
	var header, trailer metadata.MD
	var out []byte
	err := g.conn.Invoke(ctx, wire.PushMethod, &body, &out, grpc.Header(&header), grpc.Trailer(&trailer))
	o := outcome{answer: wire.Answer{Threshold: wire.NoThreshold()}}
	s, ok := status.FromError(err)
	switch {
	case !ok:
		return o, fmt.Errorf("ask the fleet: %w", err)
	case s.Code() == codes.OK:
		o.answered = true
	case s.Code() == codes.DeadlineExceeded, s.Code() == codes.Canceled,
		s.Code() == codes.Unavailable && len(s.Details()) == 0:
		return o, errors.New("ask the fleet: " + s.Message())
	default:
		o.hold = retryDelay(s)
		o.err = &StatusError{Name: s.Code().String(), Code: httpCode(s.Code()), Why: s.Message()}
	}
	a, answerErr := wire.AnswerOfGRPC(header)
	if a.Reply == nil && answerErr == nil {
		a, answerErr = wire.AnswerOfGRPC(trailer)
	}
	o.answer = a
	if o.err == nil {
		o.err = answerErr
	}
	if o.err == nil {
		o.err = partial(&o.answer, out)
	}
	return o, nil
}

// retryDelay returns how long the fleet asks to wait.
func retryDelay(s *status.Status) time.Duration {
	for _, d := range s.Details() {
		if r, ok := d.(*errdetails.RetryInfo); ok {
			return max(0, min(r.GetRetryDelay().AsDuration(), maxHold))
		}
	}
	return 0
}

// httpCode returns the HTTP status with the same meaning, as in google.rpc.Code.
func httpCode(c codes.Code) int {
	switch c {
	case codes.Unauthenticated:
		return 401
	case codes.PermissionDenied:
		return 403
	case codes.InvalidArgument:
		return 400
	case codes.ResourceExhausted:
		return 429
	case codes.Unavailable:
		return 503
	case codes.Unimplemented:
		return 501
	}
	return 500
}
