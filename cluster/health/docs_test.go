package health

import (
	"fmt"
	"testing"

	"github.com/ingero-io/ingero/internal/doctable"
)

// TestConstantsAsDocumented compares the table in cluster/health/DESIGN.md with the constants.
func TestConstantsAsDocumented(t *testing.T) {
	doctable.CheckConstants(t, "DESIGN.md", "| constant | value | source |", map[string]any{
		"PushEvery": PushEvery, "PushSpread": PushSpread, "PollEvery": PollEvery, "BucketTime": BucketTime,
		"FreeBucket": FreeBucket, "Repeated": Repeated, "Kept": Kept, "quorumShare": quorumShare,
		"mergeNoise": mergeNoise, "warmBuckets": warmBuckets, "offsetSpread": offsetSpread, "offsetMost": offsetMost,
		"offsetLeak": offsetLeak, "noiseLeast": noiseLeast, "noiseFactor": noiseFactor,
		"slower": fmt.Sprintf("%.3f", slower), "evidence": evidence, "suspectShare": suspectShare,
		"hiccupLongest": hiccupLongest, "fillLeast": fillLeast, "stallFrom": stallFrom, "resolveAfter": resolveAfter,
		"laneTime": laneTime, "missingAfter": missingAfter, "elsewhereFor": elsewhereFor,
		"hangLeast": hangLeast, "degradedShare": degradedShare,
		"freshFor": freshFor, "cachedFor": cachedFor,
	})
}
