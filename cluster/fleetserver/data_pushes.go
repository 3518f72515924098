package fleetserver

import (
	"bytes"
	"io"
	"net/http"

	"github.com/ingero-io/ingero/cluster/wire"
)

// mostData bounds the requests that DataPushes reads, in bytes. A request of eight ranks has 1 kB.
const mostData = 16 << 10

// DataPushes answers requests that hold the data of one push and no other metric, as most requests of agents do. next
// gets all others unchanged. It is for a server whose next does more than the fleet needs, and that has already
// checked the token and decompressed the body.
func (s *Server) DataPushes(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !mayBeData(r) {
			next.ServeHTTP(w, r)
			return
		}
		size := sizeOf(r)
		if !s.room(size) {
			refuseBusy(w)
			return
		}
		read, err := readAll(r.Body, int(r.ContentLength)+1)
		s.leave(size)
		p, ok := wire.ParseDataRequest(read)
		if err != nil || !ok {
			again := *r
			again.Body = body{io.MultiReader(bytes.NewReader(read), failing{err}), r.Body}
			next.ServeHTTP(w, &again)
			return
		}
		t := s.Take(ClusterOf(r), []wire.Push{p}, nil, func(a wire.Answer) error { return a.SetHTTP(w.Header()) })
		if t.Rejected > 0 {
			refuse(w, http.StatusBadRequest, t.Why)
			return
		}
		w.Header().Set("Content-Type", wire.TypeProtobuf)
		w.WriteHeader(http.StatusOK) // an empty ExportMetricsServiceResponse
	})
}

func mayBeData(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Path == wire.PushPath && 0 < r.ContentLength &&
		r.ContentLength <= mostData && r.Header.Get("Content-Type") == wire.TypeProtobuf &&
		r.Header.Get("Content-Encoding") == ""
}

// body is a request's body after a part of it was read.
type body struct {
	io.Reader
	io.Closer
}

// failing is a reader that only returns an error, or io.EOF if err is nil.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}
