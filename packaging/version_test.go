package packaging_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestVersionsAgree: the version in VERSION is that of the chart and its images, and the newest one in CHANGELOG.md.
func TestVersionsAgree(t *testing.T) {
	t.Parallel()
	version := releaseVersion(t)
	for name, pattern := range map[string]string{
		"deploy/helm/ingero/Chart.yaml": `(?m)^appVersion: "(.*)"$`,
		"CHANGELOG.md":                  `(?m)^## (\d[^,\n]*), `,
		"install.sh":                    `install\.sh --version (\S+)`,
		"docs/install.md":               `install\.sh --version (\S+)`,
	} {
		found := regexp.MustCompile(pattern).FindStringSubmatch(fileText(t, name))
		switch {
		case found == nil:
			t.Errorf("%s names no version", name)
		case found[1] != version:
			t.Errorf("%s has the version %s, and VERSION %s", name, found[1], version)
		}
	}
	if _, err := os.Stat("../releases/" + version + ".md"); err != nil {
		t.Error(err)
	}
}

// releaseVersion is the version that was released last, or is released next.
func releaseVersion(t testing.TB) string {
	t.Helper()
	version := strings.TrimSuffix(fileText(t, "VERSION"), "\n")
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(version) {
		t.Fatalf("VERSION has %q", version)
	}
	return version
}

func fileText(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile("../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
