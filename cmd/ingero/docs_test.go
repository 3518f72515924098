package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// TestNamedPlacesExist: the files that the pages for contributors name exist, and have the functions that
// "Where is what" says are in them. Links to a heading lead to one.
func TestNamedPlacesExist(t *testing.T) {
	root := filepath.Join("..", "..")
	quoted := regexp.MustCompile("`([a-z_]+/[^` ]+)`")
	placed := regexp.MustCompile("`(\\w+)`(?: and `(\\w+)`)? in `([^` ]+)`")
	toHeading := regexp.MustCompile(`\]\(([^)#:\s]*)#([^)]+)\)`)
	for _, page := range []string{"README.md", "CONTRIBUTING.md", "docs/README.md", "docs/architecture.md"} {
		text := readText(t, filepath.Join(root, page))
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			top, _, _ := strings.Cut(m[1], "/")
			if _, err := os.Stat(filepath.Join(root, top)); err != nil {
				continue // a path within a package
			}
			pattern := strings.ReplaceAll(m[1], "NAME", "*")
			if found, err := filepath.Glob(filepath.Join(root, pattern)); err != nil || len(found) == 0 {
				t.Errorf("%s names %s, which does not exist (%v)", page, m[1], err)
			}
		}
		for _, m := range toHeading.FindAllStringSubmatch(text, -1) {
			to := filepath.Join(root, page)
			if m[1] != "" {
				to = filepath.Join(root, filepath.Dir(page), m[1])
			}
			if !slices.Contains(anchors(readText(t, to)), m[2]) {
				t.Errorf("%s links to %s#%s: no such heading", page, m[1], m[2])
			}
		}
	}
	places := placed.FindAllStringSubmatch(readText(t, filepath.Join(root, "docs", "architecture.md")), -1)
	if len(places) < 6 {
		t.Errorf("only %d places found in docs/architecture.md", len(places))
	}
	for _, m := range places {
		code := readText(t, filepath.Join(root, m[3]))
		for _, name := range m[1:3] {
			if name != "" && !regexp.MustCompile(`(?m)^(func|var|static)\b.*\b`+name+`\b`).MatchString(code) {
				t.Errorf("docs/architecture.md: no %s in %s", name, m[3])
			}
		}
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// anchors are what links to the headings of a page end with.
func anchors(page string) (list []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		plain := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(m[1]), "")
		list = append(list, strings.ReplaceAll(plain, " ", "-"))
	}
	return list
}
