package nodeapi_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/explain/compare"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/source"
	"github.com/ingero-io/ingero/serve/nodeapi"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// TestTwoPartsAreCompared compares a recording with itself, with a part of it, and with one that it may be
// compared with; and asks for others.
func TestTwoPartsAreCompared(t *testing.T) {
	dir := t.TempDir()
	own, main := filepath.Join(dir, "run.db"), filepath.Join(dir, "main.db")
	for _, p := range []string{own, main} {
		must(t, storetest.Build(p, storetest.Load{Calls: 4000, Threads: 2}, sqlite.Options{}))
	}
	src, other := source.New(own), source.New(main)
	t.Cleanup(func() { src.Close(); other.Close() })
	h := nodeapi.New(src, nodeapi.Options{Version: "test", Baselines: []recording.Source{other}})

	code, b := ask(t, h, "GET", nodeapi.Prefix+"recording", "")
	var rec wire.Recording
	if must(t, json.Unmarshal(b, &rec)); code != http.StatusOK || len(rec.Baselines) != 1 || rec.Baselines[0] != "main.db" {
		t.Fatalf("%d, baselines %q", code, rec.Baselines)
	}
	sides := func(a, b string) (int, []byte) {
		return ask(t, h, "GET", nodeapi.Prefix+"compare?"+url.Values{"a": {a}, "b": {b}}.Encode(), "")
	}
	for _, a := range []string{"", "main.db", "main.db@0s-1h", "0s-1h"} {
		code, b := sides(a, "")
		var r compare.Result
		if must(t, json.Unmarshal(b, &r)); code != http.StatusOK || r.Changed || len(r.Threads) != 2 || r.B.Name != "run.db" {
			t.Errorf("%q against all: %d, %s", a, code, b)
		}
	}
	for a, want := range map[string]string{
		"yesterday": "is not a part of a recording", "none.db@0s-5s": "other recordings here: main.db",
		"../../secret.db@0s-5s": "there is no recording", "rank=3": "no such process was recorded",
		"900h-901h": "nothing was recorded in",
	} {
		if code, b := sides(a, ""); code != http.StatusBadRequest || !strings.Contains(string(b), want) {
			t.Errorf("%q: %d, %s; want %q", a, code, b, want)
		}
	}
}
