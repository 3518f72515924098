package packaging_test

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// releasedPrograms are those of an archive, and of the deb and rpm of a name.
var releasedPrograms = struct{ archives, packages map[string][]string }{
	map[string][]string{
		"ingero": {"ingero", "ingero-fleet", "straggler-sink"}, "ingero-echo": {"ingero-echo"},
		"ingero-bench": {"ingero-bench"},
	},
	map[string][]string{
		"ingero": {"ingero", "straggler-sink"}, "ingero-fleet": {"ingero-fleet"}, "ingero-echo": {"ingero-echo"},
	},
}

// page is the name of a program's manual page: those of servers are of section 8.
func page(program string) string {
	if program == "ingero" || program == "ingero-bench" {
		return program + ".1"
	}
	return program + ".8"
}

// releasedVersion is the version of what is in dist.
func releasedVersion(t *testing.T) string {
	t.Helper()
	name := filepath.Base(dist(t, "ingero_*.provenance.json"))
	return strings.TrimSuffix(strings.TrimPrefix(name, "ingero_"), ".provenance.json")
}

// packed are the files of an archive, with their modes. Those that are in no folder are written into one, unless it is
// empty.
func packed(t *testing.T, file, into string) map[string]os.FileMode {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]os.FileMode{}
	eachFile(t, z, func(h *tar.Header, data []byte) {
		if _, twice := all[h.Name]; twice {
			t.Errorf("%s has %s twice", file, h.Name)
		}
		all[h.Name] = os.FileMode(h.Mode)
		if into == "" || strings.Contains(h.Name, "/") {
			return
		}
		if err := os.WriteFile(filepath.Join(into, h.Name), data, 0o755); err != nil {
			t.Fatal(err)
		}
	})
	return all
}

// TestReleaseArchives: each program is in one for each architecture, with its manual page and completions, and those
// that run here say the version.
func TestReleaseArchives(t *testing.T) {
	version := releasedVersion(t)
	for name, programs := range releasedPrograms.archives {
		for _, arch := range []string{"amd64", "arm64"} {
			file, here := dist(t, name+"_"+version+"_linux_"+arch+".tar.gz"), ""
			if arch == runtime.GOARCH {
				here = t.TempDir()
			}
			got := packed(t, file, here)
			for _, p := range programs {
				for file, mode := range map[string]os.FileMode{
					p: 0o755, "man/" + page(p): 0o644, "completions/" + p + ".bash": 0o644, "completions/_" + p: 0o644,
					"completions/" + p + ".fish": 0o644, "LICENSE": 0o644,
				} {
					if m, ok := got[file]; !ok || m != mode {
						t.Errorf("%s for %s: %s is there: %v, with mode %o", name, arch, file, ok, m)
					}
				}
				if here == "" {
					continue
				}
				out := run(t, here, filepath.Join(here, p), "version")
				if !strings.HasPrefix(out, p+" "+version+" (commit ") || strings.Contains(out, "unknown") {
					t.Errorf("%s says %q, not version %s", p, out, version)
				}
			}
		}
	}
}

// TestReleasePackages: there are a deb and an rpm of each name for each architecture. No file is in two debs, as only
// one could be installed then.
func TestReleasePackages(t *testing.T) {
	version := releasedVersion(t)
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Fatalf("dpkg-deb lists what is in a deb: %v", err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		in := map[string]string{}
		for name, programs := range releasedPrograms.packages {
			deb := dist(t, name+"_"+version+"_"+arch+".deb")
			for field, want := range map[string]string{"Package": name, "Version": version, "Architecture": arch} {
				if got := run(t, ".", "dpkg-deb", "-f", deb, field); got != want {
					t.Errorf("%s: %s is %q", deb, field, got)
				}
			}
			for line := range strings.Lines(run(t, ".", "dpkg-deb", "-c", deb)) {
				words := strings.Fields(line)
				file := strings.TrimPrefix(words[5], ".")
				if strings.HasSuffix(file, "/") {
					continue
				}
				if other, twice := in[file]; twice {
					t.Errorf("%s is in the debs %s and %s for %s", file, other, name, arch)
				}
				in[file] = name
			}
			for _, p := range programs {
				section := page(p)[len(page(p))-1:]
				for _, file := range []string{
					"/usr/bin/" + p, "/usr/share/man/man" + section + "/" + page(p) + ".gz",
					"/usr/share/bash-completion/completions/" + p, "/usr/share/zsh/vendor-completions/_" + p,
					"/usr/share/fish/vendor_completions.d/" + p + ".fish", "/usr/share/doc/" + name + "/copyright",
				} {
					if in[file] != name {
						t.Errorf("%s for %s has no %s", name, arch, file)
					}
				}
			}
			rpmArch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch]
			b, err := os.ReadFile(dist(t, name+"-"+version+"-1."+rpmArch+".rpm"))
			if err != nil || len(b) < 100_000 || string(b[:4]) != "\xed\xab\xee\xdb" {
				t.Errorf("the rpm %s for %s has %d bytes, %v", name, arch, len(b), err)
			}
		}
	}
}

// TestReleaseListsOfContents: that of each archive parses, and names the module and others.
func TestReleaseListsOfContents(t *testing.T) {
	version := releasedVersion(t)
	for name := range releasedPrograms.archives {
		module := "github.com/ingero-io/ingero"
		if name == "ingero-echo" {
			module += "/echo"
		}
		for _, arch := range []string{"amd64", "arm64"} {
			b, err := os.ReadFile(dist(t, name+"_"+version+"_linux_"+arch+".tar.gz.spdx.json"))
			if err != nil {
				t.Fatal(err)
			}
			var doc struct {
				SPDXVersion       string `json:"spdxVersion"`
				DocumentNamespace string `json:"documentNamespace"`
				Packages          []struct {
					Name string `json:"name"`
				} `json:"packages"`
			}
			if err := json.Unmarshal(b, &doc); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, p := range doc.Packages {
				names = append(names, p.Name)
			}
			for _, want := range []string{module, "github.com/spf13/cobra"} {
				if !slices.Contains(names, want) {
					t.Errorf("%s for %s: no %s in %d packages", name, arch, want, len(names))
				}
			}
			if !strings.HasPrefix(doc.SPDXVersion, "SPDX-2.") || !strings.HasPrefix(doc.DocumentNamespace, "https://") {
				t.Errorf("%s for %s is of %q, %q", name, arch, doc.SPDXVersion, doc.DocumentNamespace)
			}
		}
	}
}

// TestReleaseChecksums: each file that is released is in checksums.txt as it is, once; the provenance statement is
// about the same files, and about a commit.
func TestReleaseChecksums(t *testing.T) {
	version := releasedVersion(t)
	provenance := dist(t, "ingero_"+version+".provenance.json")
	folder := filepath.Dir(provenance)
	b, err := os.ReadFile(filepath.Join(folder, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(b)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if _, twice := sums[name]; twice || !ok {
			t.Errorf("the line %q", line)
		}
		sums[name] = sum
		f, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			t.Error(err)
			continue
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		if got := hex.EncodeToString(h.Sum(nil)); errors.Join(err, f.Close()) != nil || got != sum {
			t.Errorf("%s has %s, and %s in checksums.txt: %v", name, got, sum, err)
		}
	}
	for _, pattern := range []string{"*.tar.gz", "*.deb", "*.rpm", "*_image.tar", "*.tgz", "*.spdx.json", "install.sh"} {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil || len(found) == 0 {
			t.Errorf("%s: %v", pattern, err)
		}
		for _, f := range found {
			if sums[filepath.Base(f)] == "" {
				t.Errorf("%s is not in checksums.txt", f)
			}
		}
	}
	var statement struct {
		Subject []struct {
			Name   string
			Digest struct{ SHA256 string }
		}
		Predicate struct {
			BuildDefinition struct {
				ExternalParameters struct{ Revision, Version string }
			}
		}
	}
	if b, err = os.ReadFile(provenance); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &statement); err != nil {
		t.Fatal(err)
	}
	delete(sums, filepath.Base(provenance)) // it is not about itself
	about := map[string]string{}
	for _, s := range statement.Subject {
		about[s.Name] = s.Digest.SHA256
	}
	if diff := cmp.Diff(sums, about); diff != "" || len(about) != len(statement.Subject) {
		t.Errorf("checksums, and subjects of provenance:\n%s", diff)
	}
	said := statement.Predicate.BuildDefinition.ExternalParameters
	if said.Version != version || len(said.Revision) != 40 {
		t.Errorf("it is about %+v", said)
	}
}
