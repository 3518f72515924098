package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
)

func readLists(t *testing.T) []apiList {
	t.Helper()
	lists, err := readAPI("testdata/api")
	if err != nil {
		t.Fatal(err)
	}
	return lists
}

// Every function that NVIDIA's libraries export is traced, or listed with the reason.
func TestEveryExportedFunctionIsTracedOrTheReasonIsListed(t *testing.T) {
	versions := map[string]int{}
	for _, l := range readLists(t) {
		versions[l.library]++
		if l.source == "" || len(l.functions) < 50 || !slices.IsSorted(l.functions) {
			t.Errorf("%s %s: from %q, %d functions", l.library, l.version, l.source, len(l.functions))
		}
		for _, f := range l.functions {
			_, traced := event.BySymbol(f)
			if _, listed := event.WhyUntraced(f); traced == listed {
				t.Errorf("%s %s: %s is traced: %v, listed with a reason: %v", l.library, l.version, f, traced, listed)
			}
			if !traced && strings.Contains(f, "Launch") && !strings.HasPrefix(f, "p") {
				t.Errorf("%s %s: %s launches and is not traced", l.library, l.version, f)
			}
		}
	}
	if versions["libcudart"] < 3 || versions["libcuda"] < 3 || versions["libnccl"] < 2 {
		t.Errorf("lists of %v", versions)
	}
	for _, l := range event.Libraries() {
		if versions[l.Library] == 0 {
			t.Errorf("no list of what %s exports", l.Library)
		}
	}
}

// A row of the catalogue is a function that there is.
func TestEveryTracedFunctionIsInALibrary(t *testing.T) {
	exported := map[string]bool{}
	for _, l := range readLists(t) {
		for _, f := range l.functions {
			exported[f] = true
		}
	}
	for i := range event.Catalog {
		if !event.Catalog[i].Op.Source().Called() {
			continue
		}
		for _, f := range event.Catalog[i].SymbolNames() {
			if !exported[f] {
				t.Errorf("%s, of %s, is in no library", f, event.Catalog[i].Name)
			}
		}
	}
}

func TestTheTableOfFunctionsIsUpToDate(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("../..", apiTable))
	if err != nil || string(want) != string(apiPage(readLists(t))) {
		t.Errorf("%s is not what is generated (%v): make generate", apiTable, err)
	}
}
