package ingest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/ingero-io/ingero/serve/webserver"
)

const (
	typeProtobuf = "application/x-protobuf"
	typeJSON     = "application/json"
)

// Handler answers POST of /v1/metrics, /v1/logs and /v1/traces. The query cluster_id=ID names the cluster of rows
// without one.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for i := range signals {
		sig := &signals[i]
		mux.HandleFunc("POST "+sig.path, func(w http.ResponseWriter, r *http.Request) { s.post(w, r, sig) })
	}
	return mux
}

func (s *Server) post(w http.ResponseWriter, r *http.Request, sig *signal) {
	kind, json, err := contentType(r)
	if err != nil {
		s.malformed.Add(1)
		refuse(w, http.StatusUnsupportedMediaType, typeProtobuf, status.New(codes.InvalidArgument, err.Error()))
		return
	}
	if err := s.mayWrite(r.Header.Get("Authorization")); err != nil {
		refuseAs(w, kind, err)
		return
	}
	if !s.enter() {
		refuseAs(w, kind, later(codes.ResourceExhausted, "too many requests at once"))
		return
	}
	defer s.leave()
	body, code, err := unpacked(w, r)
	if err != nil {
		s.malformed.Add(1)
		if errors.Is(err, webserver.ErrIncomplete) { // it may arrive in time when it is sent again
			refuseAs(w, kind, later(codes.Unavailable, err.Error()))
			return
		}
		refuse(w, code, kind, status.New(codes.InvalidArgument, err.Error()))
		return
	}
	defer webserver.Begin(w, r)()
	out, err := s.takeRequest(r.Context(), sig, body, json, r.URL.Query().Get("cluster_id"))
	if err != nil {
		refuseAs(w, kind, err)
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(out) // on error the peer has gone
}

// contentType returns the type of a request; the answer has the same one.
func contentType(r *http.Request) (kind string, json bool, err error) {
	kind, _, err = mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && kind == typeProtobuf:
		return kind, false, nil
	case err == nil && kind == typeJSON:
		return kind, true, nil
	}
	return "", false, fmt.Errorf("the Content-Type is %q; it must be %s or %s", r.Header.Get("Content-Type"),
		typeProtobuf, typeJSON)
}

// unpacked reads a request's body, or returns the status of the answer with an error.
func unpacked(w http.ResponseWriter, r *http.Request) ([]byte, int, error) {
	body, err := webserver.Body(w, r, MaxRequest)
	switch {
	case errors.Is(err, webserver.ErrTooLarge):
		return nil, http.StatusRequestEntityTooLarge, tooLarge()
	case err != nil:
		return nil, http.StatusServiceUnavailable, err
	}
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return body, 0, nil
	case "gzip":
	default:
		return nil, http.StatusUnsupportedMediaType,
			fmt.Errorf("the Content-Encoding is %q; it must be gzip or none", encoding)
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(z, MaxRequest+1))
	}
	switch {
	case err != nil:
		return nil, http.StatusBadRequest, fmt.Errorf("the request cannot be unpacked: %w", err)
	case len(body) > MaxRequest:
		return nil, http.StatusRequestEntityTooLarge, tooLarge()
	}
	return body, 0, nil
}

func tooLarge() error {
	return fmt.Errorf("the request is longer than %d bytes; send fewer points at a time", MaxRequest)
}

// refuseAs answers with an error that has a gRPC status.
func refuseAs(w http.ResponseWriter, kind string, err error) {
	st := status.Convert(err)
	code, ok := map[codes.Code]int{
		codes.InvalidArgument: http.StatusBadRequest, codes.Unauthenticated: http.StatusUnauthorized,
		codes.PermissionDenied: http.StatusForbidden, codes.ResourceExhausted: http.StatusTooManyRequests,
		codes.Unavailable: http.StatusServiceUnavailable,
	}[st.Code()]
	if !ok {
		code = http.StatusServiceUnavailable
	}
	switch code {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
	}
	refuse(w, code, kind, st)
}

// refuse answers with an error as OTLP specifies: a google.rpc.Status in the request's type.
func refuse(w http.ResponseWriter, code int, kind string, st *status.Status) {
	encode := proto.Marshal
	if kind == typeJSON {
		encode = protojson.Marshal
	}
	body, err := encode(st.Proto())
	if err != nil {
		body = nil // the code suffices
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(code)
	_, _ = w.Write(body) // on error the peer has gone
}
