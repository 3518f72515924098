package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// consoleBlock is what a page shows of a terminal: one command, whose quoted
// argument may have several lines, and what it prints.
var consoleBlock = regexp.MustCompile("(?s)```console\n\\$ ingero (.*?)\n```\n")

// TestInvestigationPagesHaveTheCurrentOutput runs every command of the pages on the
// recordings and compares. With -update it writes what is printed into the pages.
func TestInvestigationPagesHaveTheCurrentOutput(t *testing.T) {
	t.Chdir("../..")
	index, err := os.ReadFile("docs/investigations.md")
	if err != nil {
		t.Fatal(err)
	}
	recordings, err := filepath.Glob("investigations/*.db")
	if err != nil || len(recordings) == 0 {
		t.Fatalf("no recordings (%v); make them with make investigations", err)
	}
	pages, err := filepath.Glob("docs/investigations/*.md")
	if err != nil || len(pages) != len(recordings) {
		t.Errorf("there are %d pages of %d recordings (%v)", len(pages), len(recordings), err)
	}
	for _, db := range recordings {
		name := strings.TrimSuffix(filepath.Base(db), ".db")
		t.Run(name, func(t *testing.T) {
			before := fileHash(t, db)
			page := filepath.Join("docs/investigations", name+".md")
			if !strings.Contains(string(index), "(investigations/"+name+".md)") {
				t.Errorf("docs/investigations.md has no link to %s", page)
			}
			checkPage(t, page, "explain "+db, "query "+db)
			if fileHash(t, db) != before {
				t.Error("reading the recording changed it")
			}
			if left, _ := filepath.Glob(db + "?*"); len(left) > 0 { // the pattern is well formed
				t.Errorf("reading the recording left %v", left)
			}
		})
	}
}

// TestComparePageHasTheCurrentOutput does the same for the page on comparing.
func TestComparePageHasTheCurrentOutput(t *testing.T) {
	t.Chdir("../..")
	checkPage(t, "docs/compare.md", "compare investigations/healthy.db investigations/noisy-neighbour.db")
}

// checkPage runs the commands of a page. It has to have each of the given ones.
func checkPage(t *testing.T, page string, commands ...string) {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, c := range commands {
		if !strings.Contains(text, "$ ingero "+c) {
			t.Errorf("%s does not show ingero %s", page, c)
		}
	}
	got := consoleBlock.ReplaceAllStringFunc(text, func(block string) string {
		args, typed := splitCommand(t, consoleBlock.FindStringSubmatch(block)[1])
		return "```console\n$ ingero " + typed + "\n" + string(inProcess(t, args...)) + "```\n"
	})
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(text, got); d != "" {
		t.Errorf("%s differs from what is printed (-page +printed; -update writes it):\n%s", page, d)
	}
}

// splitCommand takes the command off a block: its words, where "…" is one word,
// and the text of it.
func splitCommand(t *testing.T, block string) (words []string, typed string) {
	t.Helper()
	quoted, word, in := false, "", false
	for i, r := range block {
		switch {
		case r == '"':
			quoted, in = !quoted, true
		case quoted || r != ' ' && r != '\n':
			word, in = word+string(r), true
		default:
			if in {
				words = append(words, word)
			}
			word, in = "", false
			if r == '\n' {
				return words, block[:i]
			}
		}
	}
	if quoted {
		t.Fatalf("a quote is not closed: %s", block)
	}
	if in {
		words = append(words, word)
	}
	return words, block
}

func fileHash(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))
}
