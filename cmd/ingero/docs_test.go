package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

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
		rows, err := sqlite.Query(t.Context(), path, b[1], sqlite.Limits{})
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
