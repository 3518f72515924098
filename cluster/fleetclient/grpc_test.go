package fleetclient

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ingero-io/ingero/cluster/fleetserver"
	"github.com/ingero-io/ingero/cluster/rawcodec"
	"github.com/ingero-io/ingero/cluster/wire"
)

func TestWrongTokenOverGRPC(t *testing.T) {
	fleet := fleetserver.New(fleetserver.Options{Token: "right"})
	url := serve(t, "grpc", fleet)
	for _, token := range []string{"wrong", ""} {
		_, err := client(t, Options{URL: url, Token: token}).Push(t.Context(), some())
		if e, ok := errors.AsType[*StatusError](err); !ok || e.Code != 401 || e.Name != "Unauthenticated" {
			t.Errorf("%q: %v", token, err)
		}
	}
	if n := fleet.Counts(); n.Denied != 2 || n.Pushes != 0 {
		t.Errorf("%+v", n)
	}
	c := client(t, Options{URL: url, Token: "right"})
	if a, err := c.Push(t.Context(), some()); err != nil || a.Reply == nil || !c.Reachable() {
		t.Errorf("%+v %v", a, err)
	}
	if _, err := c.Poll(t.Context(), wire.Poll{}); err == nil || c.Polls() {
		t.Error("it can be polled")
	}
}

// fakeGRPC is a fleet that answers over gRPC with what f returns.
func fakeGRPC(t *testing.T, f func() error) *Client {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(grpc.ForceServerCodecV2(rawcodec.Codec{}), grpc.UnknownServiceHandler(
		func(_ any, s grpc.ServerStream) error {
			var in, out []byte
			if err := s.RecvMsg(&in); err != nil {
				return err
			}
			if err := f(); err != nil {
				return err
			}
			return s.SendMsg(&out)
		}))
	go g.Serve(l)
	t.Cleanup(g.Stop)
	c := client(t, Options{URL: "grpc://" + l.Addr().String()})
	c.wait = func(context.Context, time.Duration) error { return nil }
	return c
}

func TestWhatGoesWrongOverGRPC(t *testing.T) {
	asked := 0
	answer := error(nil)
	c := fakeGRPC(t, func() error { asked++; return answer })
	for _, tc := range []struct {
		answer error
		asked  int // number of requests
		want   string
	}{
		{nil, 1, ""}, // a stock collector has no answer for agents
		{status.Error(codes.Unavailable, "going away"), 2, "going away"},
		{status.Error(codes.Unimplemented, "no such method"), 1, "gRPC status Unimplemented: no such method"},
		{status.Error(codes.Internal, ""), 1, "gRPC status Internal"},
	} {
		asked, answer = 0, tc.answer
		a, err := c.Push(t.Context(), some())
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) ||
			asked != tc.asked || a.Reply != nil {
			t.Errorf("%v: asked %d times, %+v, %v", tc.answer, asked, a, err)
		}
	}
	if c.Reachable() {
		t.Error("reachable after three failures")
	}
	block := make(chan struct{})
	defer close(block)
	stuck := false
	hangs := fakeGRPC(t, func() error {
		if stuck {
			<-block
		}
		return nil
	})
	if _, err := hangs.Push(t.Context(), some()); err != nil { // connected from here on, however busy the machine is
		t.Fatal(err)
	}
	stuck, hangs.limit = true, 50*time.Millisecond
	if _, err := hangs.Push(t.Context(), some()); err == nil || !strings.Contains(err.Error(), "did not answer within 50ms") {
		t.Error(err)
	}
}

func TestAFleetThatIsBusyOverGRPC(t *testing.T) {
	busy, err := status.New(codes.Unavailable, "busy").WithDetails(&errdetails.RetryInfo{
		RetryDelay: durationpb.New(3 * time.Second),
	})
	if err != nil {
		t.Fatal(err)
	}
	c := fakeGRPC(t, busy.Err)
	_, err = c.Push(t.Context(), some())
	if e, ok := errors.AsType[*StatusError](err); !ok || e.Code != 503 {
		t.Errorf("%v", err)
	}
	_, err = c.Push(t.Context(), some())
	if e, ok := errors.AsType[*HeldError](err); !ok || e.For < 2*time.Second || e.For > 3*time.Second {
		t.Errorf("the fleet asked to wait for 3 s: %v", err)
	}
}

func TestMutualTLSOverGRPC(t *testing.T) {
	ours, others, conf := authorities(t)
	fleet := fleetserver.New(fleetserver.Options{})
	url := "grpcs" + strings.TrimPrefix(serve(t, "grpc", fleet, grpc.Creds(credentials.NewTLS(conf))), "grpc")
	all := Files{CA: ours.file("ca.pem"), Cert: ours.file("agent.pem"), Key: ours.file("agent.key")}
	if a, err := client(t, Options{URL: url, TLS: all}).Push(t.Context(), some()); err != nil || a.Reply == nil {
		t.Errorf("%+v %v", a, err)
	}
	for name, f := range map[string]Files{
		"none": {}, "another CA": {others.file("ca.pem"), all.Cert, all.Key},
		"another's agent": {all.CA, others.file("agent.pem"), others.file("agent.key")},
	} {
		if _, err := client(t, Options{URL: url, TLS: f}).Push(t.Context(), some()); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
