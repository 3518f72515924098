package main

import (
	"os/exec"
	"strings"
	"testing"
)

// The agent is one static binary for every Linux machine. What needs C, or is as
// large as the rest together, belongs to the other commands.
var forbidden = map[string]string{
	"github.com/duckdb/":               "DuckDB needs cgo; it belongs to ingero-echo",
	"github.com/marcboeker/go-duckdb":  "DuckDB needs cgo; it belongs to ingero-echo",
	"go.opentelemetry.io/collector":    "the collector belongs to ingero-fleet",
	"github.com/open-telemetry/opente": "the collector belongs to ingero-fleet",
	"k8s.io/client-go":                 "20 MB for one watch; use net/http",
}

func TestCommandLinksNoCgoDuckDBOrCollector(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}}\t{{.Standard}}\t{{len .CgoFiles}}",
		".").Output()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 3 {
			t.Fatalf("cannot read %q", line)
		}
		n++
		if f[1] == "false" && f[2] != "0" {
			t.Errorf("%s uses cgo", f[0])
		}
		for prefix, why := range forbidden {
			if strings.HasPrefix(f[0], prefix) {
				t.Errorf("%s is linked: %s", f[0], why)
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d packages listed", n)
	}
}
