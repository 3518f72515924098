package collector_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The components are thin: they only import those packages of the program that its own server is made of.
func TestImportsOfTheProgram(t *testing.T) {
	const program = "github.com/ingero-io/ingero/"
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{join .Imports "\n"}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), program)
		if ok && !strings.HasPrefix(name, "collector/") {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	want := []string{"cluster/cohorts", "cluster/fleetserver", "cluster/health", "cluster/wire", "lib/crosssite", "lib/fewlogs"}
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
}
