package nodes_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/explain/compare"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/serve/nodes"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// TestNodesAreComparedAsFilesAre compares two nodes over the network, and their recordings here.
func TestNodesAreComparedAsFilesAre(t *testing.T) {
	var addresses []string
	var local []*compare.Side
	for _, l := range []storetest.Load{{Calls: 20_000, Threads: 2}, {Calls: 30_000, Threads: 2}} {
		path := filepath.Join(t.TempDir(), "run.db")
		must(t, storetest.Build(path, l, sqlite.Options{}))
		addresses = append(addresses, plain(t, api(t, path, 0)))
		rec, err := sqlite.Open(path)
		must(t, err)
		s, err := compare.Read(t.Context(), rec, recording.Selection{Rank: -1})
		must(t, err)
		must(t, rec.Close())
		local = append(local, s)
	}
	f := newClient(t, nodes.Config{Nodes: addresses})
	sides, err := f.Sides(t.Context(), []string{"", ""})
	must(t, err)
	if sides[0].Name != addresses[0] || sides[1].Name != addresses[1] {
		t.Errorf("the sides are called %s and %s, want %q", sides[0].Name, sides[1].Name, addresses)
	}
	text := func(s []*compare.Side) string {
		for _, x := range s {
			x.Name, x.Report.DB, x.Report.Node = "", "", ""
		}
		b, err := json.Marshal(compare.Compare(s[0], s[1]))
		must(t, err)
		return string(b)
	}
	if got, want := text(sides), text(local); got != want || !strings.Contains(got, `"unit_ns"`) {
		t.Errorf("over the network\n%s\nof the files\n%s", got, want)
	}

	part, err := f.Sides(t.Context(), []string{"0s-1s", ""})
	must(t, err)
	if want := addresses[0] + "@0s-1s"; part[0].Name != want || part[0].Report.Events >= sides[0].Report.Events {
		t.Errorf("the part is called %s and has %d calls of %d", part[0].Name, part[0].Report.Events, sides[0].Report.Events)
	}
	if _, err := f.Sides(t.Context(), []string{"", "yesterday"}); err == nil ||
		!strings.Contains(err.Error(), addresses[1]+`: "yesterday" is not a part of a recording`) {
		t.Errorf("a part that is none: %v", err)
	}
}

// TestWhatIsNoSideIsRefused has nodes that answer something else.
func TestWhatIsNoSideIsRefused(t *testing.T) {
	for answer, want := range map[string]string{
		`[]`: "it answers, but not as an Ingero node does", `{}`: "the versions of Ingero differ",
		`{"schema":"ingero.side/2"}`:                                                                     "the versions of Ingero differ",
		`{"schema":"ingero.side/1"}`:                                                                     "it sends no report",
		`{"schema":"ingero.side/1","report":{},"profiles":[{"Ops":[null]}]}`:                             "an operation that is null",
		`{"schema":"ingero.side/1","report":{},"profiles":[{"Ops":[{"Calls":-1}]}]}`:                     "not as an Ingero node does",
		`{"schema":"ingero.side/1","report":{},"profiles":[{"Ops":[{"Op":65000,"Calls":9}],"Count":1}]}`: "",
	} {
		var addresses []string
		for range 2 {
			addresses = append(addresses, plain(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(answer))
			})))
		}
		sides, err := newClient(t, nodes.Config{Nodes: addresses}).Sides(t.Context(), []string{"", ""})
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", answer, err, want)
		case want == "" && err != nil:
			t.Errorf("%s: %v", answer, err)
		case want == "":
			compare.Compare(sides[0], sides[1]) // an unknown operation is no reason to fail
		}
	}
	old := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(old.Close)
	addresses := []string{old.Listener.Addr().String(), "127.0.0.1:1"}
	if _, err := newClient(t, nodes.Config{Nodes: addresses}).Sides(t.Context(), []string{"", ""}); err == nil ||
		!strings.Contains(err.Error(), addresses[0]) {
		t.Errorf("a node without that path: %v", err)
	}
}
