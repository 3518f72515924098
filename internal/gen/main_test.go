package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
)

func TestGeneratedFilesAreUpToDate(t *testing.T) {
	for path, want := range map[string][]byte{
		"../../capture/bpf/include/ops.h": header(),
		"../../docs/events.md":            reference(),
	} {
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf(`%s does not follow from event/catalog.go; run "make generate"`, path)
		}
	}
}

func TestEveryShapeHasAName(t *testing.T) {
	seen := map[string]bool{}
	for i, n := range shapeNames {
		if n == "" || seen[n] {
			t.Errorf("shape %d is named %q", i, n)
		}
		seen[n] = true
	}
}

func TestReferenceNamesEverything(t *testing.T) {
	doc := string(reference())
	for _, i := range event.Catalog {
		if !strings.Contains(doc, "`"+i.Name+"`") {
			t.Errorf("no %s", i.Name)
		}
	}
	for c := range event.NumClasses {
		if !strings.Contains(doc, "`"+c.String()+"`") {
			t.Errorf("no class %s", c)
		}
	}
	for k := range event.NumLossKinds {
		if !strings.Contains(doc, "`"+k.String()+"`") {
			t.Errorf("no loss %s", k)
		}
	}
	for line := range strings.Lines(doc) {
		if n := strings.Count(line, "|"); n > 0 && n != 5 {
			t.Errorf("%d columns: %s", n-1, line)
		}
	}
}
