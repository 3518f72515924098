package thresholdextension

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/extension/extensionmiddleware"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/ingero-io/ingero/cluster/fleetserver"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/lib/crosssite"
)

var (
	_ extensionmiddleware.HTTPServer = (*Threshold)(nil)
	_ extensionmiddleware.GRPCServer = (*Threshold)(nil)
)

// response keeps the answer to a request until the response is written. A component that sets it later gets an error.
type response struct {
	write   func(a wire.Answer, fields map[string][]string) error
	cluster string // of pushes that name none, from the request's address

	mu     sync.Mutex // guards the rest
	fields map[string][]string
	ended  bool
}

var errEnded = errors.New("the response has been written")

func (r *response) set(a wire.Answer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return errEnded
	}
	r.fields = map[string][]string{}
	return r.write(a, r.fields)
}

// end returns the response's fields, none if there is no answer. The response counts as written from then on.
func (r *response) end() map[string][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	return r.fields
}

// responseKey is the key of a response in a context.
type responseKey struct{}

// responseOf returns the response of the request in ctx, nil if there is none.
func responseOf(ctx context.Context) *response {
	r, _ := ctx.Value(responseKey{}).(*response)
	return r
}

// GetHTTPHandler writes answers to the headers of HTTP responses, errors included. It answers a request with nothing
// but data for the fleet itself: no component of the pipeline uses any of it. It also answers the GET endpoints:
// agents poll at the address that they push to.
func (t *Threshold) GetHTTPHandler(context.Context) (extensionmiddleware.WrapHTTPHandlerFunc, error) {
	reads := crosssite.Handler(t.fleet.Reads(), false)
	return func(_ context.Context, base http.Handler) (http.Handler, error) {
		pushes := t.fleet.DataPushes(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			r := &response{
				write:   func(a wire.Answer, fields map[string][]string) error { return a.SetHTTP(fields) },
				cluster: fleetserver.ClusterOf(q),
			}
			base.ServeHTTP(&writer{ResponseWriter: w, response: r}, q.WithContext(
				context.WithValue(q.Context(), responseKey{}, r)))
		}))
		return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if q.Method == http.MethodGet && strings.HasPrefix(q.URL.Path, apiPath) {
				reads.ServeHTTP(w, q)
				return
			}
			pushes.ServeHTTP(w, q)
		}), nil
	}, nil
}

// writer adds the answer's fields before the first byte of a response.
type writer struct {
	http.ResponseWriter
	response *response
	begun    bool
}

func (w *writer) begin() {
	if !w.begun {
		w.begun = true
		maps.Copy(w.Header(), w.response.end())
	}
}

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(code int) {
	w.begin()
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *writer) Write(b []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(b)
}

// Unwrap returns the writer for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// GetGRPCServerOptions writes answers to the headers and trailers of gRPC responses, errors included.
func (*Threshold) GetGRPCServerOptions(context.Context) ([]grpc.ServerOption, error) {
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(
		func(ctx context.Context, q any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			r := &response{write: func(a wire.Answer, fields map[string][]string) error { return a.SetGRPC(fields) }}
			out, err := handle(context.WithValue(ctx, responseKey{}, r), q)
			if fields := r.end(); len(fields) > 0 {
				// These only fail for a stream that has ended: nobody reads the answer then.
				_ = grpc.SetHeader(ctx, metadata.MD(fields))
				_ = grpc.SetTrailer(ctx, metadata.MD(fields))
			}
			return out, err
		})}, nil
}
