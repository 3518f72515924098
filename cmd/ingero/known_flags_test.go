package main

import (
	"os"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/demo"
)

// TestWhatPeopleKnowIsAcceptedOrRefused has each flag and name of earlier versions. One that is accepted sets the
// flag of today; one that is refused says what to use.
func TestWhatPeopleKnowIsAcceptedOrRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line       string
		flag, want string // the flag of today, and its value
		refused    string // what the error says
	}{
		{line: "trace --stack", flag: "stack", want: "slow"},
		{line: "trace --stack -d 60s", flag: "stack", want: "slow"},
		{line: "trace --stack=true", flag: "stack", want: "slow"},
		{line: "trace --stack=false", flag: "stack", want: "off"},
		{line: "trace -p 4821,4822", flag: "pid", want: "4821,4822"},
		{line: "trace -u root", flag: "user", want: "root"},
		{line: "trace -d 60s", flag: "duration", want: "1m0s"},
		{line: "query --since 5m", refused: `a query is SQL: ingero query "select`},
		{line: "query --pid 4821", refused: `a query is SQL: ingero query "select`},
		{line: "query --op cudaMemcpy", refused: `a query is SQL: ingero query "select`},
		{line: "explain --last 5", refused: "choose a time: --since 5m"},
		{line: "explain --last", refused: "choose a time: --since 5m"},
		{line: "explain --from 15:40", flag: "from", want: "15:40"},
		{line: "demo --no-gpu", flag: "no-gpu", want: "true"},
		{line: "demo --no-gpu=false", refused: "no demo uses a GPU; to trace one: sudo ingero trace -- PROGRAM"},
		{line: "demo --gpu=false", flag: "gpu", want: "false"},
		{line: "demo --gpu", refused: "no demo uses a GPU; to trace one: sudo ingero trace -- PROGRAM"},
		{line: "demo --duration 20s", flag: "seconds", want: "20"},
		{line: "dashboard --addr :8080", flag: "http", want: ":8080"},
		{line: "export --output run.json", flag: "out", want: "run.json"},
		{line: "export --nodes a:8080", refused: "merge them first: ingero merge"},
		{line: "merge --output all.db", flag: "output", want: "all.db"},
	} {
		root := newRoot(&console{env: os.Getenv})
		cmd, rest, err := root.Find(knownArguments(strings.Fields(c.line)))
		if err != nil || cmd == root {
			t.Errorf("%s: no such command: %v", c.line, err)
			continue
		}
		err = cmd.ParseFlags(rest)
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v; want %q", c.line, err, c.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		if got := cmd.Flags().Lookup(c.flag).Value.String(); got != c.want {
			t.Errorf("%s: --%s is %q, want %q", c.line, c.flag, got, c.want)
		}
	}
}

func TestKnownDemosExist(t *testing.T) {
	t.Parallel()
	names := []string{"memcpy-bottleneck", "periodic-spike", "cpu-contention", "gpu-steal", "cold-start"}
	for _, known := range names {
		if _, err := demo.Find(knownDemos[known]); err != nil {
			t.Errorf("%s: %v", known, err)
		}
	}
	if len(knownDemos) != len(names) {
		t.Errorf("%d known names, %d in the test", len(knownDemos), len(names))
	}
}
