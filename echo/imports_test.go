package echo_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ingero-io/ingero/"

// table has the imports of each package from this module and the program's, in the order of the data: each imports
// only what stands above it. Tests may import more.
var table = []struct{ name, imports string }{
	{"echo/row", ""},
	{"echo/access", ""},
	{"echo/gate", ""},
	{"echo/outlier", ""},
	{"echo/cost", ""},
	{"echo/arrival", "echo/outlier"},
	{"echo/otlp", "echo/row"},
	{"echo/chsql", "echo/gate"},
	{"echo/seen", "echo/row"},
	{"echo/store", "echo/row"},
	{"echo/store/duckdb", "echo/gate echo/row echo/seen echo/store"},
	{"echo/store/clickhouse", "echo/chsql echo/gate echo/row echo/seen echo/store"},
	{"echo/store/clickhouse/clickhousetest", ""},
	{"echo/store/clickhouse/clickhousetest/chserver", ""},
	{"echo/intake", "echo/row echo/store"},
	{"echo/ingest", "cluster/rawcodec echo/access echo/intake echo/otlp echo/row echo/store serve/webserver"},
	{"echo/demo", ""},
	{"echo/made", "echo/demo"},
	{"echo/load", "cluster/rawcodec cluster/wire event/stats"},
	{"echo/question", "cluster/health cluster/wire echo/arrival echo/row echo/store event"},
	{"echo/store/storetest", "echo/question echo/row echo/store"},
	{"echo/mcptool", "cluster/health echo/arrival echo/cost echo/outlier echo/question echo/store event serve/mcpshape"},
	{"echo/api", "echo/access echo/mcptool echo/store serve/webserver"},
	{"echo/cmd/ingero-echo", `cluster/load echo/access echo/api echo/cost echo/demo echo/ingest echo/intake
		echo/load echo/mcptool echo/store echo/store/clickhouse echo/store/duckdb lib/commands
		lib/smallfile serve/mcpserver serve/webserver lib/plain lib/crosssite lib/fewlogs`},
}

// pure packages have no I/O and no clock.
var pure = []string{"echo/row", "echo/access", "echo/gate", "echo/otlp", "echo/chsql", "echo/seen", "echo/outlier", "echo/cost", "echo/arrival", "echo/demo", "echo/made"}

func list(t *testing.T, format string) map[string][]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.ImportPath}} "+format, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		found[strings.TrimPrefix(words[0], module)] = words[1:]
	}
	return found
}

func TestImportsPointUp(t *testing.T) {
	found := list(t, `{{join .Imports " "}}`)
	above := map[string]bool{}
	for _, r := range table {
		var got []string
		for _, i := range found[r.name] {
			if name, ok := strings.CutPrefix(i, module); ok {
				got = append(got, name)
			}
			if slices.Contains(pure, r.name) && slices.Contains([]string{"os", "net", "net/http", "time", "database/sql"}, i) {
				t.Errorf("%s imports %s; it is to be pure", r.name, i)
			}
		}
		want := strings.Fields(r.imports)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s imports %q; the table says %q", r.name, got, want)
		}
		for _, w := range want {
			if strings.HasPrefix(w, "echo/") && !above[w] {
				t.Errorf("%s imports %s, which does not stand above it", r.name, w)
			}
		}
		above[r.name] = true
		delete(found, r.name)
	}
	for name := range found {
		if name != "echo" {
			t.Errorf("%s is not in the table", name)
		}
	}
}

// Only the DuckDB store may need cgo, directly or through its imports; the tracer never does.
func TestOnlyTheStoreNeedsDuckDB(t *testing.T) {
	for name, deps := range list(t, `{{join .Deps " "}}`) {
		needs := slices.ContainsFunc(deps, func(d string) bool { return strings.HasPrefix(d, "github.com/duckdb/") })
		if want := name == "echo/store/duckdb" || name == "echo/cmd/ingero-echo"; needs != want {
			t.Errorf("%s needs DuckDB: %v; want %v", name, needs, want)
		}
	}
}
