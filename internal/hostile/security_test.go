package hostile

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each promise of SECURITY.md names a test that there is.
func TestPromisesAreHeldByTests(t *testing.T) {
	const root = "../.."
	b, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(b), -1) {
		missing[name] = true
	}
	if len(missing) < 20 {
		t.Errorf("%d tests are named", len(missing))
	}
	begin := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			if err == nil && d.IsDir() && (d.Name() == ".cache" || d.Name() == "node_modules") {
				return filepath.SkipDir
			}
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range begin.FindAllStringSubmatch(string(text), -1) {
			delete(missing, m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range missing {
		t.Errorf("SECURITY.md names %s, which there is not", name)
	}
}
