package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/lib/config"
)

// keptFolders have the configuration as packages have installed it. An upgrade keeps what is in /etc/ingero, so the
// programs of today must accept all of it. When packaging/etc changes, its files before are kept in another folder.
func keptFolders(t *testing.T) []string {
	t.Helper()
	folders, err := filepath.Glob("../../packaging/testdata/etc/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d folders, %v", len(folders), err)
	}
	return append(folders, "../../packaging/etc")
}

func TestTheConfigurationOfEarlierPackagesIsAccepted(t *testing.T) {
	t.Parallel()
	for _, folder := range keptFolders(t) {
		b, err := os.ReadFile(filepath.Join(folder, "ingero.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		// As it was installed, and with what it suggests.
		suggested := regexp.MustCompile(`(?m)^# ((?:node|db): )`).ReplaceAllString(string(b), "$1")
		if suggested == string(b) {
			t.Errorf("%s suggests nothing", folder)
		}
		for _, text := range []string{string(b), suggested} {
			path := filepath.Join(t.TempDir(), "ingero.yaml")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := config.Find(path, os.Getenv)
			if err != nil || c.DB != "/var/lib/ingero/ingero.db" {
				t.Errorf("%s: %+v, %v", folder, c, err)
			}
		}
	}
}

func TestFlagsOfEarlierPackagesAreAccepted(t *testing.T) {
	t.Parallel()
	for _, folder := range keptFolders(t) {
		trace := environment(t, filepath.Join(folder, "trace.env"))
		flags := trace.suggested
		if len(flags) < 2 {
			t.Errorf("%s: trace.env suggests %q", folder, flags)
		}
		for _, f := range append(flags, "", strings.Join(flags, " ")) {
			trace.values["INGERO_TRACE_FLAGS"] = f
			cmd := accepted(t, folder, "ingero.service", trace)
			if got := cmd.Flags().Lookup("db").Value.String(); got != "/var/lib/ingero/ingero.db" {
				t.Errorf("%s: the service records to %s", folder, got)
			}
		}
		node := environment(t, filepath.Join(folder, "node-api.env"))
		cmd := accepted(t, folder, "ingero-node-api.service", node)
		if got := cmd.Flags().Lookup("http").Value.String(); got != "127.0.0.1:8080" {
			t.Errorf("%s: the node API answers at %s", folder, got)
		}
		// Each variable is one that the unit or the program knows.
		known := []string{"INGERO_TRACE_FLAGS", "INGERO_NODE_API_ADDR", "INGERO_NODE_API_FLAGS", fleetTokenEnv, nodeService.tokenEnv}
		for _, name := range slices.Concat(trace.names, node.names) {
			if !slices.Contains(known, name) {
				t.Errorf("%s: nothing reads %s", folder, name)
			}
		}
	}
}

// settings are those of a file that systemd reads.
type settings struct {
	values    map[string]string
	names     []string // also of variables in comments
	suggested []string // flags in comments
}

func environment(t *testing.T, file string) settings {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := settings{values: map[string]string{}}
	for line := range strings.Lines(string(b)) {
		text, comment := strings.CutPrefix(strings.TrimSpace(line), "#")
		text = strings.TrimSpace(text)
		name, value, found := strings.Cut(text, "=")
		switch {
		case comment && strings.HasPrefix(text, "--"):
			s.suggested = append(s.suggested, text)
		case found && regexp.MustCompile(`^[A-Z_]+$`).MatchString(name):
			s.names = append(s.names, name)
			if !comment {
				s.values[name] = strings.Trim(value, `"`)
			}
		}
	}
	return s
}

// accepted parses the command line of a unit with these settings, as systemd would make it.
func accepted(t *testing.T, folder, unit string, s settings) *cobra.Command {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../packaging/systemd", unit))
	if err != nil {
		t.Fatal(err)
	}
	_, line, found := strings.Cut(string(b), "\nExecStart=/usr/bin/ingero ")
	line, _, _ = strings.Cut(line, "\n")
	if !found {
		t.Fatalf("%s starts no ingero", unit)
	}
	line = os.Expand(line, func(name string) string {
		value, ok := s.values[name]
		if !ok {
			t.Errorf("%s: %s needs $%s", folder, unit, name)
		}
		return value
	})
	root := newRoot(&console{env: os.Getenv})
	cmd, rest, err := root.Find(knownArguments(strings.Fields(line)))
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil {
		t.Errorf("%s: ingero %s: %v", folder, line, err)
	}
	return cmd
}
