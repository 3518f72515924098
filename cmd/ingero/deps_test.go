package main

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

	ours + "bench":                  "measurements belong to ingero-bench",
	ours + "internal/hollow":        "programs of other people belong to ingero-bench",
	ours + "internal/real":          "programs of other people belong to ingero-bench",
	ours + "internal/netns":         "network namespaces belong to ingero-bench",
	ours + "store/sqlite/storetest": "recordings for tests belong to tests and to ingero-bench",
}

const ours = "github.com/ingero-io/ingero/"

// ofDemo are the packages of the laboratory that are linked: "ingero demo" runs a program with a known fault.
var ofDemo = []string{"internal/cudastub", "internal/rig"}

func TestCommandLinksNoCgoDuckDBOrCollector(t *testing.T) {
	for _, p := range linked(t) {
		if !p.Standard && len(p.CgoFiles) > 0 {
			t.Errorf("%s uses cgo", p.ImportPath)
		}
		for prefix, why := range forbidden {
			if strings.HasPrefix(p.ImportPath, prefix) {
				t.Errorf("%s is linked: %s", p.ImportPath, why)
			}
		}
		name, of := strings.CutPrefix(p.ImportPath, ours)
		if of && strings.HasPrefix(name, "internal/") && !slices.Contains(ofDemo, name) {
			t.Errorf("%s is linked: of the laboratory the demo needs only %q", name, ofDemo)
		}
	}
}

// A program that runs as root starts no compiler and fetches nothing.
func TestCommandRunsNoCompilerAndNoPackageManager(t *testing.T) {
	n := 0
	for _, p := range linked(t) {
		if !strings.HasPrefix(p.ImportPath, ours) {
			continue
		}
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			n++
			ast.Inspect(file, func(node ast.Node) bool {
				if l, ok := node.(*ast.BasicLit); ok && l.Kind == token.STRING && tools.MatchString(l.Value) {
					t.Errorf("%s has %s; what runs compilers or fetches programs belongs to ingero-bench", path, l.Value)
				}
				return true
			})
		}
	}
	if n < 300 {
		t.Errorf("only %d files read", n)
	}
}

var tools = regexp.MustCompile(`\b(gcc|cc|g\+\+|clang|pip3?|npm)\b`)

// pkg is what "go list" says of a package.
type pkg struct {
	ImportPath, Dir   string
	Standard          bool
	GoFiles, CgoFiles []string
}

// linked are the packages that the command is made of.
func linked(t *testing.T) (list []pkg) {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Standard,GoFiles,CgoFiles", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p pkg
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	if len(list) < 50 {
		t.Fatalf("only %d packages listed", len(list))
	}
	return list
}
