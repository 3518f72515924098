package health

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
	_, table, _ := strings.Cut(string(page), "| constant | value | source |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	values := map[string]any{
		"PushEvery": PushEvery, "PushSpread": PushSpread, "PollEvery": PollEvery, "BucketTime": BucketTime,
		"FreeBucket": FreeBucket, "Repeated": Repeated, "Kept": Kept, "quorumShare": quorumShare,
		"mergeNoise": mergeNoise, "warmBuckets": warmBuckets, "offsetSpread": offsetSpread, "offsetMost": offsetMost,
		"offsetLeak": offsetLeak, "noiseLeast": noiseLeast, "noiseFactor": noiseFactor,
		"slower": fmt.Sprintf("%.3f", slower), "evidence": evidence, "suspectShare": suspectShare,
		"hiccupLongest": hiccupLongest, "fillLeast": fillLeast, "stallFrom": stallFrom, "resolveAfter": resolveAfter,
		"laneTime": laneTime, "missingAfter": missingAfter, "hangLeast": hangLeast, "degradedShare": degradedShare,
		"freshFor": freshFor, "cachedFor": cachedFor,
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
