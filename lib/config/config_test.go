package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/lib/config"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFileIsReadInFull(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "x.yaml"), `
node: gpu-node-01
fleet:
  nodes: [gpu-node-01:8080, "gpu-node-02:8080"]
  timeout: 2s
  max_clock_offset: 50ms
  no_tls: true
  ca_cert: ca.pem
  client_cert: me.pem
  client_key: me.key
  token_file: token
`)
	got, err := config.Find(path, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	want := &config.Config{Path: path, Node: "gpu-node-01", Fleet: config.Fleet{
		Nodes: []string{"gpu-node-01:8080", "gpu-node-02:8080"}, Timeout: 2 * time.Second,
		MaxClockOffset: 50 * time.Millisecond,
		NoTLS:          true, CACert: "ca.pem", ClientCert: "me.pem", ClientKey: "me.key", TokenFile: "token",
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestFileIsLookedForInOrder(t *testing.T) {
	t.Chdir(t.TempDir())
	env := map[string]string{}
	find := func(asked string) string {
		t.Helper()
		c, err := config.Find(asked, func(k string) string { return env[k] })
		if err != nil {
			t.Fatal(err)
		}
		return c.Path
	}
	if got := find(""); got != "" && got != config.Paths[1] {
		t.Errorf("without one: %q", got)
	}
	write(t, "ingero.yaml", "")
	if got := find(""); got != "ingero.yaml" {
		t.Errorf("in this folder: %q", got)
	}
	env[config.Env] = write(t, "env.yaml", "# nothing\n")
	if got := find(""); got != "env.yaml" {
		t.Errorf("by the environment: %q", got)
	}
	if got := find(write(t, "flag.yaml", "{}")); got != "flag.yaml" {
		t.Errorf("by the flag: %q", got)
	}
}

func TestMistakesAreReported(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"nodes: [secret:1]":                       "line 1: there is no such key; there are node, db",
		"\nsecret: secret":                        "line 2: there is no such key",
		"fleet: {timeout: secret}":                "line 1: the value must be a duration",
		"node: x\nfleet: {no_tls: secret}":        "line 2: the value must be true or false",
		"fleet: secret":                           "line 1: the value must be keys with values",
		"root:$6$secret:1:0:::\nbin:secret:1::\n": "line 1: there is no such key",
		"node: [secret]":                          "line 1: the value must be a text",
		"node: a\nnode: secret":                   "a key that is there already",
		"fleet: {nodes: {secret: secret}}":        "line 1: the value must be a list",
		"fleet: {nodes: [secret":                  "line 1: this is no YAML",
		"node: *secret":                           "this is no YAML",
		"node: !secret x\n\tsecret":               "this is no YAML",
		"db: secret":                              "db is not an absolute path",
		"\x00secret":                              "this is no YAML",
	} {
		path := write(t, filepath.Join(dir, "wrong.yaml"), text)
		if _, err := config.Find(path, os.Getenv); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := config.Find(filepath.Join(dir, "none.yaml"), os.Getenv); err == nil {
		t.Error("a missing file that was asked for is no error")
	}
}

func TestFileThatOthersCanWriteIsUsedOnlyIfNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "ingero.yaml", "fleet: {nodes: [evil.example:443]}")
	if err := os.Chmod("ingero.yaml", 0o666); err != nil {
		t.Fatal(err)
	}
	none := func(string) string { return "" }
	if _, err := config.Find("", none); err == nil || !strings.Contains(err.Error(), "--config ingero.yaml") {
		t.Errorf("found: %v", err)
	}
	if c, err := config.Find("ingero.yaml", none); err != nil || len(c.Fleet.Nodes) != 1 {
		t.Errorf("asked for: %+v %v", c, err)
	}
}

// TestExampleIsRight reads the example of the repository.
func TestExampleIsRight(t *testing.T) {
	c, err := config.Find("../../deploy/ingero.yaml", os.Getenv)
	if err != nil || len(c.Fleet.Nodes) != 4 || c.Node == "" {
		t.Errorf("%+v %v", c, err)
	}
}
