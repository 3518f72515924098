package fleetserver_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/cluster/fleetserver"
	"github.com/ingero-io/ingero/cluster/wire"
)

// The document has the fields of the answers: those that are always present are required.
func TestOpenAPIIsOfWhatIsAnswered(t *testing.T) {
	w := httptest.NewRecorder()
	h := fleetserver.New(fleetserver.Options{}).Handler()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, fleetserver.OpenAPIPath, nil))
	var doc struct {
		Paths      map[string]struct{ Get json.RawMessage }
		Components struct {
			Schemas map[string]struct {
				Required   []string
				Properties map[string]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || w.Code != http.StatusOK {
		t.Fatal(w.Code, err)
	}
	for path, p := range doc.Paths {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusOK || p.Get == nil {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if paths := slices.Sorted(maps.Keys(doc.Paths)); !slices.Equal(paths, []string{wire.CohortsPath, wire.PollPath}) {
		t.Errorf("%q", paths)
	}
	for _, v := range []any{wire.CohortList{}, wire.Cohorts{}, wire.CohortRank{}} {
		typ := reflect.TypeOf(v)
		var required, all []string
		for f := range typ.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			all = append(all, name)
			if options == "" {
				required = append(required, name)
			}
		}
		s := doc.Components.Schemas[typ.Name()]
		slices.Sort(all)
		if got := slices.Sorted(maps.Keys(s.Properties)); !slices.Equal(got, all) || !slices.Equal(s.Required, required) {
			t.Errorf("%s: %q, required %q; want %q, %q", typ.Name(), got, s.Required, all, required)
		}
	}
}
