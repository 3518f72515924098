package vm

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestSuitesAreOfPackagesWithTests(t *testing.T) {
	for _, s := range slices.Concat(suites, refusals) {
		if files, err := filepath.Glob(filepath.Join("../..", s.pkg, "*_test.go")); err != nil || len(files) == 0 {
			t.Errorf("there are no tests in %s", s.pkg)
		}
	}
}
