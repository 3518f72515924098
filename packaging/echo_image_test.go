package packaging_test

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/internal/servetest"
)

// TestReleasedEchoOnARM64: the image for arm64 has the loader and the libraries that its program needs, and in an
// emulator the program keeps a point and answers a question.
func TestReleasedEchoOnARM64(t *testing.T) {
	file := dist(t, "ingero-echo_*_image.tar")
	emulator := tool(t, "qemu-aarch64-static")
	b, manifests := index(t, file)
	root := t.TempDir()
	var arches []string
	for _, m := range manifests {
		if arches = append(arches, m.Platform.Architecture); m.Platform.Architecture != "arm64" {
			continue
		}
		var manifest struct{ Layers []descriptor }
		b.of(t, m, &manifest)
		for _, l := range manifest.Layers {
			eachFile(t, b.layer(t, l), func(h *tar.Header, data []byte) {
				to := filepath.Join(root, h.Name)
				if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(to, data, os.FileMode(h.Mode)); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
	if got := fmt.Sprint(arches); got != "[amd64 arm64]" {
		t.Fatalf("the image is for %s", got)
	}

	needs := []string{"usr/bin/ingero-echo"}
	for n := 0; n < len(needs); n++ { // a library may need others
		f, err := elf.Open(filepath.Join(root, needs[n]))
		if err != nil {
			t.Fatal(err)
		}
		libraries, err := f.ImportedLibraries()
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		for _, l := range libraries {
			if to := path.Join("lib/aarch64-linux-gnu", l); !strings.HasPrefix(l, "ld-linux") && !slices.Contains(needs, to) {
				needs = append(needs, to)
			}
		}
	}
	if i, err := os.Stat(filepath.Join(root, "lib/ld-linux-aarch64.so.1")); err != nil || i.Mode().Perm() != 0o755 {
		t.Errorf("the loader: %v, %v", i, err)
	}

	echo := exec.CommandContext(t.Context(), emulator, "-L", root, filepath.Join(root, "usr/bin/ingero-echo"), "serve",
		"--db-path", filepath.Join(t.TempDir(), "echo.db"), "--otlp-addr=", "--otlp-http-addr=127.0.0.1:0",
		"--mcp-addr=127.0.0.1:0", "--health-addr=")
	var log servetest.Buffer
	echo.Stderr = &log
	if err := echo.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		echo.Process.Kill()
		_ = echo.Wait() // it may have ended
		if t.Failed() {
			t.Log(log.String())
		}
	})
	at := func(what string) string {
		host, _, _ := strings.Cut(log.After(t, `msg=listening for=`+what+` at=`), " ")
		return "http://" + host
	}
	post := func(url, body string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		got, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %s %v", url, answer.Status, got, err)
		}
		return string(bytes.TrimSpace(got))
	}
	post(at(`"OTLP over HTTP"`)+"/v1/metrics", `{"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "made",
		"gauge": {"dataPoints": [{"timeUnixNano": "1764158400000000000", "asDouble": 0.25}]}}]}]}]}`)
	got := post(at("questions")+"/api/v1/sql", `{"sql": "select metric_name, value_double from events"}`)
	if !strings.Contains(got, `"rows":[["made",0.25]]`) {
		t.Errorf("it answers %s", got)
	}
	if err := echo.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := echo.Wait(); err != nil {
		t.Errorf("after Ctrl+C: %v", err)
	}
}
