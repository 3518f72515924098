package layout_test

import (
	"slices"
	"strings"
	"testing"
)

// floors are the folders in the order of the data: each imports only those above it. docs/architecture.md says what is
// on each. internal is the laboratory: it may import everything, and nothing of the product imports it but what
// ofLaboratory lists.
var floors = []string{
	"lib", "event", "capture", "store", "account", "explain", "cluster", "export", "metrics", "agent", "serve", "tui",
	"demo", "bench", "internal", "cmd",
}

// ofLaboratory are the packages that import internal: helpers of tests, known faults and measurements.
var ofLaboratory = []string{"capture/probe/probetest", "demo", "bench", "cmd/ingero"}

// upward are the imports of a lower floor, and why each is there.
var upward = map[string]string{}

func TestFoldersAreFloors(t *testing.T) {
	used := map[string]bool{}
	for _, r := range table {
		floor, _, _ := strings.Cut(r.name, "/")
		at := slices.Index(floors, floor)
		if at < 0 && r.imports != "" {
			t.Errorf("%s is in no folder of the list", r.name)
		}
		for i := range strings.FieldsSeq(r.imports) {
			of, _, _ := strings.Cut(i, "/")
			switch {
			case of == floor || of == "docs":
			case of == "internal":
				if floor != "internal" && !slices.ContainsFunc(ofLaboratory, func(p string) bool {
					return r.name == p || strings.HasPrefix(r.name, p+"/")
				}) {
					t.Errorf("%s imports %s of the laboratory", r.name, i)
				}
			case slices.Index(floors, of) > at:
				if upward[r.name+" "+i] == "" {
					t.Errorf("%s imports %s, which is on a lower floor", r.name, i)
				}
				used[r.name+" "+i] = true
			}
		}
	}
	for u := range upward {
		if !used[u] {
			t.Errorf("%q is not imported any more", u)
		}
	}
}
