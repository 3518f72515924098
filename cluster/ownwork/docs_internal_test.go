package ownwork

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestConstantsAsDocumented holds the table of docs/fleet.md against the constants.
func TestConstantsAsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| constant of `cluster/ownwork` | value | source |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	values := map[string]any{
		"firstOps": firstOps, "otherOps": otherOps, "maxOps": maxOps, "rounds": rounds, "usedWithin": usedWithin,
		"rivalTakes": rivalTakes, "silentAfter": silentAfter, "fullQueue": fullQueue, "plainLaunch": plainLaunch,
		"collectiveLaunch": collectiveLaunch, "followSteps": followSteps, "spareMost": spareMost,
		"unwaitedSteps": unwaitedSteps,
	}
	rows := 0
	for line := range strings.Lines(table + "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			t.Fatalf("not a row: %q", line)
		}
		rows++
		name, value := strings.Trim(cells[1], " `"), strings.TrimSpace(cells[2])
		want, ok := values[name]
		if !ok || fmt.Sprint(want) != value {
			t.Errorf("%s is %v; the page says %s", name, want, value)
		}
	}
	if rows != len(values) {
		t.Errorf("%d rows, %d constants", rows, len(values))
	}
}
