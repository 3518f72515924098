package layout_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notTexts are folders whose files others wrote, or programs.
var notTexts = []string{".git", ".cache", "bin", "dist", "node_modules", "testdata", "investigations", "images"}

// TestRetiredWordsStayAway holds the second table of docs/glossary.md.
func TestRetiredWordsStayAway(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| not | but |\n|---|---|\n")
	var words []string
	for line := range strings.Lines(table) {
		words = append(words, regexp.QuoteMeta(strings.TrimSpace(strings.Split(line, "|")[1])))
	}
	if len(words) < 10 {
		t.Fatalf("only %d words in the table of docs/glossary.md", len(words))
	}
	retired := regexp.MustCompile(`(?i:\b(?:` + strings.Join(words, "|") + `)\b)|[a-z](?:` + titles(words) + `)(?:[A-Z]|\b)`)
	read := 0
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if slices.Contains(notTexts, e.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		switch e.Name() {
		case "CHANGELOG.md", "glossary.md", "words_test.go":
			return nil
		}
		if !slices.Contains([]string{".go", ".c", ".h", ".md", ".ts"}, filepath.Ext(path)) {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		n := 0
		for line := range strings.Lines(string(b)) {
			n++
			if w := retired.FindString(line); w != "" {
				t.Errorf("%s:%d: %q: see docs/glossary.md", path, n, strings.TrimSpace(w))
			}
		}
		return nil
	})
	if err != nil || read < 500 {
		t.Errorf("%d files read: %v", read, err)
	}
}

// titles are the words as they are within a name: Scene of newScene.
func titles(words []string) string {
	var list []string
	for _, w := range words {
		if !strings.Contains(w, " ") {
			list = append(list, strings.ToUpper(w[:1])+w[1:])
		}
	}
	return strings.Join(list, "|")
}
