package sqlite_test

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func fileSize(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Size()
}

func hash(t testing.TB, path string) [32]byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return sha256.Sum256(b)
}

func listing(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names
}

// unchanged fails the test if anything in path's folder differs afterwards.
func unchanged(t testing.TB, path string) {
	t.Helper()
	dir := filepath.Dir(path)
	names := listing(t, dir)
	sums := make(map[string][32]byte)
	for _, n := range names {
		sums[n] = hash(t, filepath.Join(dir, n))
	}
	t.Cleanup(func() {
		if after := listing(t, dir); !slices.Equal(after, names) {
			t.Errorf("reading left %v, there was %v", after, names)
		}
		for _, n := range names {
			if sums[n] != hash(t, filepath.Join(dir, n)) {
				t.Errorf("reading changed %s", n)
			}
		}
	})
}
