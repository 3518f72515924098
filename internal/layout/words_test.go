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
var notTexts = []string{".git", ".cache", "bin", "dist", "node_modules", "investigations", "images", "releases"}

// texts are the kinds of files that are read, beside Makefile.
var texts = []string{".go", ".c", ".h", ".md", ".ts", ".tsx", ".py", ".sh", ".txtar", ".yaml", ".yml"}

// allowed are names and words that look like retired ones.
var allowed = strings.NewReplacer(
	"useMemo", "", // of Preact
	"calls_untold", "", // a published name: a key of JSON
	"dismiss_worker", "", // in the source of a program that is committed as built
	"spelling", "", // of a word: not the noun that was used for an interval
)

// retired is a pattern of the words in the second table of docs/glossary.md, also within names.
func retired(t *testing.T, root string) *regexp.Regexp {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| not | but |\n|---|---|\n")
	var words, names []string
	for line := range strings.Lines(table) {
		w := strings.TrimSpace(strings.Split(line, "|")[1])
		words = append(words, inflected(w))
		if !strings.Contains(w, " ") {
			names = append(names, inflected(strings.ToUpper(w[:1])+w[1:]))
		}
	}
	if len(words) < 10 {
		t.Fatalf("only %d words in the table of docs/glossary.md", len(words))
	}
	alone, within := "(?:"+strings.Join(words, "|")+")", "(?:"+strings.Join(names, "|")+")"
	return regexp.MustCompile(`(?i:(?:\b|_)` + alone + `(?:\b|[_0-9]))` +
		`|(?:\b|_)` + alone + `[A-Z]|(?:\b|[a-z0-9_])` + within + `(?:[A-Z0-9_]|\b)`) // sceneList, newScene
}

// TestRetiredWordsStayAway reads all texts.
func TestRetiredWordsStayAway(t *testing.T) {
	root := filepath.Join("..", "..")
	retired := retired(t, root)
	read := 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
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
		if e.Name() != "Makefile" && !slices.Contains(texts, filepath.Ext(path)) {
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
			if !retired.MatchString(line) {
				continue
			}
			if w := retired.FindString(allowed.Replace(line)); w != "" {
				t.Errorf("%s:%d: %q: see docs/glossary.md", path, n, strings.TrimSpace(w))
			}
		}
		return nil
	})
	if err != nil || read < 500 {
		t.Errorf("%d files read: %v", read, err)
	}
}

// inflected is a pattern of a word and its other forms: slim, slims, slimmed, slimming. Several words have none.
func inflected(w string) string {
	if strings.Contains(w, " ") {
		return regexp.QuoteMeta(w)
	}
	if stem, ok := strings.CutSuffix(w, "e"); ok {
		return regexp.QuoteMeta(stem) + `(?:e[sd]?|ing)`
	}
	return regexp.QuoteMeta(w) + `(?:e?s|` + regexp.QuoteMeta(w[len(w)-1:]) + `?(?:ed|ing))?`
}

func TestInflectedWordsAreFound(t *testing.T) {
	for word, forms := range map[string]string{
		"slim":     "slim slims slimmed slimming",
		"scene":    "scene scenes scened scening",
		"dismiss":  "dismiss dismisses dismissed dismissing",
		"looks on": "looks",
	} {
		for form := range strings.FieldsSeq(forms) {
			if got := regexp.MustCompile(`^` + inflected(word) + `$`).MatchString(form); got == strings.Contains(word, " ") {
				t.Errorf("%q of %q: %v", form, word, got)
			}
		}
	}
	if regexp.MustCompile(`^` + inflected("memo") + `$`).MatchString("memory") {
		t.Error("memory is a form of memo")
	}
}
