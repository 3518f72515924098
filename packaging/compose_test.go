package packaging_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The lines of the document that make the secrets for Compose, and give them to the tracer: they are three, nobody else
// may read them, and the tracer gets what the fleet has.
func TestSecretsForCompose(t *testing.T) {
	t.Parallel()
	tool(t, "openssl")
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "deploy/compose"), 0o755); err != nil {
		t.Fatal(err)
	}
	lines := strings.Join(section(t, installDoc, "## One host, with Compose"), "\n")
	_, rest, ok1 := strings.Cut(lines, "(umask")
	makes, rest, ok2 := strings.Cut(rest, "\ndocker compose")
	_, rest, ok3 := strings.Cut(rest, "\n. ")
	gives, _, ok4 := strings.Cut(rest, "\n--preserve-env")
	if !ok1 || !ok2 || !ok3 || !ok4 {
		t.Fatalf("the document has other lines: %s", lines)
	}
	run(t, dir, "sh", "-euc", "(umask"+makes)
	file := filepath.Join(dir, "deploy/compose/.env")
	info, err := os.Stat(file)
	text, err2 := os.ReadFile(file)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("%s is %s", file, info.Mode())
	}
	found := regexp.MustCompile(`^INGERO_FLEET_TOKEN=([0-9a-f]{32})\nINGERO_ECHO_TOKEN=[0-9a-f]{32}\nGRAFANA_PASSWORD=[0-9a-f]{32}\n$`).
		FindSubmatch(text)
	if found == nil {
		t.Fatalf("it is %s", text)
	}
	out := run(t, dir, "sh", "-euc", ". "+gives+"\nprintenv INGERO_FLEET_TOKEN OTEL_EXPORTER_OTLP_HEADERS")
	if want := string(found[1]) + "\nauthorization=Bearer%20" + string(found[1]); out != want {
		t.Errorf("the tracer gets %s, want %s", out, want)
	}
}
