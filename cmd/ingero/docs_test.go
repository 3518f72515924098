package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// TestDocumentedQueriesRun runs every statement of docs/sql.md.
func TestDocumentedQueriesRun(t *testing.T) {
	doc, err := os.ReadFile("../../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.db")
	if err := writeIncident(path, time.Unix(1_700_000_000, 0)); err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(doc), -1)
	if len(blocks) < 5 {
		t.Fatalf("only %d statements found", len(blocks))
	}
	for _, b := range blocks {
		rows, err := sqlite.Query(t.Context(), path, b[1], store.Limits{})
		if err != nil {
			t.Errorf("%s\n%v", b[1], err)
			continue
		}
		for rows.Next() {
		}
		if err := rows.Err(); err != nil {
			t.Errorf("%s\n%v", b[1], err)
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDocumentedCommandsParse checks that the commands and flags of the README
// and of the help texts exist.
func TestDocumentedCommandsParse(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(readme)
	root := newRoot(&console{env: os.Getenv})
	for _, c := range root.Commands() {
		text += "\n" + c.Example
	}
	n := 0
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "sudo ")
		if !strings.HasPrefix(line, "ingero ") {
			continue
		}
		n++
		line, _, _ = strings.Cut(line, " -- ")
		words := strings.Fields(line)[1:]
		cmd, rest, err := root.Find(words)
		if err != nil || cmd == root {
			t.Errorf("%q: no such command (%v)", line, err)
			continue
		}
		for _, w := range rest {
			if name, ok := strings.CutPrefix(w, "--"); ok && cmd.Flags().Lookup(name) == nil {
				t.Errorf("%q: no flag --%s", line, name)
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d commands found", n)
	}
}

// TestEachPageIsListed: docs/README.md lists all pages, and no link of a page leads nowhere.
func TestEachPageIsListed(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)
	const list = "../../docs/README.md"
	pages := []string{"../../README.md", "../../CONTRIBUTING.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil || len(more) == 0 {
			t.Fatalf("no pages like %s (%v)", pattern, err)
		}
		pages = append(pages, more...)
	}
	listed := map[string]bool{list: true, "../../README.md": true}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			to := filepath.Join(filepath.Dir(page), m[1])
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			}
			listed[to] = listed[to] || page == list
		}
	}
	for _, page := range pages {
		if !listed[page] {
			t.Errorf("%s does not list %s", list, page)
		}
	}
}
