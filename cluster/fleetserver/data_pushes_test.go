package fleetserver_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/fleetserver"
	"github.com/ingero-io/ingero/cluster/wire"
)

// A push without gauges gets the same answer as from the fleet's own server, and is not passed on.
func TestDataPushesAreAnswered(t *testing.T) {
	options := fleetserver.Options{Now: func() time.Duration { return time.Hour }, Clusters: []string{"c"}}
	own := fleetserver.New(options).Handler()
	s := fleetserver.New(options)
	h := s.DataPushes(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it goes on") }))
	for node := range 3 {
		b := body(t, push(node, time.Hour, 5))
		want, got := post(own, bytes.NewReader(b)), post(h, bytes.NewReader(b))
		same := maps.EqualFunc(got.Header(), want.Header(), slices.Equal[[]string])
		if got.Code != http.StatusOK || got.Body.Len() != 0 || !same || answer(t, got).Quorum != (node == 2) {
			t.Errorf("%d: %d %v; want %v", node, got.Code, got.Header(), want.Header())
		}
	}
	p := push(0, time.Hour, 5)
	p.Cluster = "other"
	w := post(h, bytes.NewReader(body(t, p)))
	if why := wire.ParseStatus(w.Body.Bytes()); w.Code != http.StatusBadRequest || why != "pushes of this cluster are not accepted" {
		t.Errorf("%d %q", w.Code, why)
	}
	if c := s.Counts(); c.Pushes != 3 || c.Foreign != 1 {
		t.Errorf("%+v", c)
	}
}

// Any other request is passed on unchanged.
func TestOtherRequestsGoOn(t *testing.T) {
	good := push(0, time.Hour, 5)
	one, two := body(t, good), body(t, good, push(1, time.Hour, 5))
	good.Gauges = []wire.Gauges{wire.NoGauges(0)}
	good.Gauges[0].Score.Health = 0.5
	gauges, truncated, long := body(t, good), one[:len(one)-1], make([]byte, 20_000)
	late := io.MultiReader(bytes.NewReader(truncated), broken{})
	for name, c := range map[string]struct {
		body     io.Reader
		length   int64
		kind     string
		encoding string
		want     []byte
		err      error
	}{
		"gauges":      {bytes.NewReader(gauges), int64(len(gauges)), wire.TypeProtobuf, "", gauges, nil},
		"two pushes":  {bytes.NewReader(two), int64(len(two)), wire.TypeProtobuf, "", two, nil},
		"truncated":   {bytes.NewReader(truncated), int64(len(truncated)), wire.TypeProtobuf, "", truncated, nil},
		"nothing":     {bytes.NewReader(nil), 0, wire.TypeProtobuf, "", nil, nil},
		"no length":   {bytes.NewReader(one), -1, wire.TypeProtobuf, "", one, nil},
		"long":        {bytes.NewReader(long), int64(len(long)), wire.TypeProtobuf, "", long, nil},
		"JSON":        {bytes.NewReader(one), int64(len(one)), wire.TypeJSON, "", one, nil},
		"compressed":  {bytes.NewReader(one), int64(len(one)), wire.TypeProtobuf, "gzip", one, nil},
		"broken":      {broken{}, 100, wire.TypeProtobuf, "", nil, io.ErrUnexpectedEOF},
		"breaks late": {late, int64(len(one)), wire.TypeProtobuf, "", truncated, io.ErrUnexpectedEOF},
	} {
		s := fleetserver.New(fleetserver.Options{})
		went := false
		h := s.DataPushes(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			went = true
			got, err := io.ReadAll(r.Body)
			if !bytes.Equal(got, c.want) || !errors.Is(err, c.err) || r.ContentLength != c.length {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
		}))
		r := httptest.NewRequest(http.MethodPost, wire.PushPath, c.body)
		r.ContentLength = c.length
		r.Header.Set("Content-Type", c.kind)
		if c.encoding != "" {
			r.Header.Set("Content-Encoding", c.encoding)
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
		if !went || s.Counts().Pushes != 0 {
			t.Errorf("%s does not go on", name)
		}
	}
}
