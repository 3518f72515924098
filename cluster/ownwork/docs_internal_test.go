package ownwork

import (
	"testing"

	"github.com/ingero-io/ingero/internal/doctable"
)

// TestConstantsAsDocumented compares the table in cluster/health/DESIGN.md with the constants.
func TestConstantsAsDocumented(t *testing.T) {
	doctable.CheckConstants(t, "../health/DESIGN.md", "| constant of `cluster/ownwork` | value | source |", map[string]any{
		"firstOps": firstOps, "otherOps": otherOps, "maxOps": maxOps, "rounds": rounds, "usedWithin": usedWithin,
		"rivalTakes": rivalTakes, "silentAfter": silentAfter, "fullQueue": fullQueue, "plainLaunch": plainLaunch,
		"collectiveLaunch": collectiveLaunch, "followSteps": followSteps, "spareMost": spareMost,
		"unwaitedSteps": unwaitedSteps,
	})
}
