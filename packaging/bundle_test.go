package packaging_test

import (
	"archive/tar"
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// bundleEnv names the file that "make bundle" wrote.
const bundleEnv = "INGERO_BUNDLE"

// bundle is the file for machines without a network, and the name of the folder in it.
func bundle(t *testing.T) (file, folder string) {
	t.Helper()
	file = os.Getenv(bundleEnv)
	if file == "" {
		t.Skip("make test-bundle runs it, on what make bundle built")
	}
	return file, strings.TrimSuffix(filepath.Base(file), ".tar")
}

// unpackedBundle is the folder of the bundle, in a new one.
func unpackedBundle(t *testing.T) string {
	t.Helper()
	file, folder := bundle(t)
	dir := t.TempDir()
	run(t, dir, "tar", "-xf", file)
	return filepath.Join(dir, folder)
}

// files are all below a folder, by their names in it.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	if err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return names
}

// Who makes it, and when, is not in it.
func TestBundleIsTheSameEachTime(t *testing.T) {
	file, folder := bundle(t)
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var names []string
	var first *tar.Header
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = h
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname+h.Gname != "" || !h.ModTime.Equal(first.ModTime) ||
			h.Mode&^0o111 != 0o644 || !strings.HasPrefix(h.Name, folder+"/") {
			t.Errorf("%s: owner %d:%d %s:%s, mode %o, time %s", h.Name, h.Uid, h.Gid, h.Uname, h.Gname, h.Mode, h.ModTime)
		}
		names = append(names, strings.ReplaceAll(h.Name, "/", "\x00")) // a folder, then what is in it
	}
	if len(names) == 0 || !slices.IsSorted(names) {
		t.Errorf("%d files, sorted: %v", len(names), slices.IsSorted(names))
	}
}

// Each file is in the checksums, and nothing else is.
func TestBundleHasChecksumsOfAll(t *testing.T) {
	dir := unpackedBundle(t)
	sums, err := os.ReadFile(filepath.Join(dir, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, name := range files(t, dir) {
		if name == "checksums.txt" || name == "checksums.txt.sig" {
			continue
		}
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		_, err = io.Copy(sum, f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&want, "%x  %s\n", sum.Sum(nil), name)
	}
	sorted := func(s string) string {
		lines := slices.Collect(strings.Lines(s))
		slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
		return strings.Join(lines, "")
	}
	if got, want := sorted(string(sums)), sorted(want.String()); got != want {
		t.Errorf("checksums.txt is\n%s\nand should be\n%s", got, want)
	}

	// What the documents run notices a file that was changed, or is missing.
	check := section(t, installDoc, "## Without a network")[1]
	changed, missing := "deploy/grafana/ingero.json", "docs/install.md"
	for _, err := range []error{
		os.WriteFile(filepath.Join(dir, changed), []byte("{}"), 0o644), os.Remove(filepath.Join(dir, missing)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("sh", "-c", check)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("%s found nothing: %s", check, out)
	}
	has(t, string(out), changed+": FAILED", missing+": No such file")
}

// Everything that a cluster of either architecture needs is there: what it has is what its own files name.
func TestBundleIsComplete(t *testing.T) {
	dir := unpackedBundle(t)
	all := files(t, dir)
	for _, arch := range []string{"amd64", "arm64"} {
		for _, kind := range []string{"linux_" + arch + ".tar.gz", "linux_" + arch + ".tar.gz.spdx.json", arch + ".deb"} {
			for _, program := range []string{"ingero", "ingero-bench", "ingero-echo"} {
				if program == "ingero-bench" && kind == arch+".deb" {
					continue // it has no packages
				}
				if !slices.ContainsFunc(all, func(name string) bool {
					return strings.HasPrefix(name, program+"_") && strings.HasSuffix(name, "_"+kind)
				}) {
					t.Errorf("no %s_*_%s", program, kind)
				}
			}
		}
	}
	for _, name := range []string{
		"README.md", "CHANGELOG.md", "LICENSE", "LICENSE-bpf", "install.sh", "docs/README.md", "docs/install.md",
		"docs/images/dashboard-overview.png", "deploy/grafana/ingero-fleet.json", "deploy/prometheus/stragglers.yml",
		"deploy/slurm/prolog.sh", "deploy/compose/compose.yaml", "deploy/helm/ingero/Chart.yaml",
	} {
		if !slices.Contains(all, name) {
			t.Errorf("no %s", name)
		}
	}

	// The images that the manifests name are those in the image files.
	var wanted []string
	for _, m := range []string{"deploy/kubernetes/agent.yaml", "deploy/kubernetes/cluster.yaml"} {
		b, err := os.ReadFile(filepath.Join(dir, m))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`image: "(.*)"`).FindAllStringSubmatch(string(b), -1) {
			wanted = append(wanted, found[1])
		}
	}
	slices.Sort(wanted)
	if wanted = slices.Compact(wanted); !slices.Equal(wanted, images(t, dir)) {
		t.Errorf("the manifests want %q; there are %q", wanted, images(t, dir))
	}

	// Links of the documents lead to what is there, or to sources.
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for _, name := range all {
		if !strings.HasSuffix(name, ".md") || name == "CHANGELOG.md" || strings.HasPrefix(name, "releases/") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range link.FindAllStringSubmatch(string(b), -1) {
			to := filepath.Join(filepath.Dir(name), l[1])
			if top, _, _ := strings.Cut(to, "/"); top != "docs" && top != "deploy" {
				continue
			}
			if _, err := os.Stat(filepath.Join(dir, to)); err != nil {
				t.Errorf("%s: %s is not there", name, l[1])
			}
		}
	}
}

// images are the names in the image files.
func images(t *testing.T, dir string) (names []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*_image.tar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		var index struct {
			Manifests []struct{ Annotations map[string]string }
		}
		if err := json.Unmarshal([]byte(run(t, dir, "tar", "-xOf", file, "index.json")), &index); err != nil {
			t.Fatal(err)
		}
		for _, m := range index.Manifests {
			names = append(names, m.Annotations["io.containerd.image.name"])
		}
	}
	slices.Sort(names)
	return names
}

const installDoc = "../docs/install.md"

// section has the commands of a document from a heading to the next one, as root runs them.
func section(t testing.TB, file, heading string) (list []string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(b), heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	if list = shellOf(text); !ok || len(list) == 0 {
		t.Fatalf("%s has no commands below %q", file, heading)
	}
	for i, line := range list {
		list[i] = asRoot(line)
	}
	return list
}

// asRoot is a line of a document as root runs it.
func asRoot(line string) string {
	line, _, _ = strings.Cut(line, "   #")
	return strings.TrimSpace(strings.TrimPrefix(line, "sudo "))
}

// shellOf are the lines in a document's blocks of shell.
func shellOf(text string) (list []string) {
	in := false
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		switch line := s.Text(); {
		case line == "```sh":
			in = true
		case line == "```":
			in = false
		case in:
			list = append(list, line)
		}
	}
	return list
}
