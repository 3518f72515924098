package mcptool_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/echo/store/clickhouse"
	"github.com/ingero-io/ingero/echo/store/clickhouse/clickhousetest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	clickhousetest.Clean()
	os.Exit(code)
}

// The answers do not depend on the store.
func TestOnClickHouse(t *testing.T) {
	clickhousetest.Require(t)
	server, databases := clickhousetest.Start(t, t.TempDir()), 0
	before := open
	t.Cleanup(func() { open = before })
	open = func(testing.TB) (store.Store, error) {
		databases++
		return clickhouse.Open(context.Background(), server.URL(fmt.Sprint("tools", databases)), clickhouse.Options{})
	}
	t.Run("demo", TestTheDemo)
	t.Run("made cluster", TestTheMadeCluster)
	t.Run("stragglers", TestStragglers)
	t.Run("many collectives", TestManyCollectives)
	t.Run("absurd time", TestAnAbsurdTime)
	t.Run("errors of GPUs", TestErrorsOfGPUs)
	t.Run("scores that are no numbers", TestScoresThatAreNoNumbers)
	t.Run("two jobs", TestTwoJobsOfACluster)
	t.Run("what ends without an event", TestWhatEndsWithoutAnEvent)
	t.Run("outliers", TestOutliers)
	t.Run("outliers since a start", TestOutliersOfWhatIsSentSinceAStart)
	t.Run("outliers by GPU", TestOutliersByGPU)
	t.Run("cost", TestCostByAgents)
	t.Run("published", TestPublishedQuestions)
	t.Run("clocks", TestClocksThatAreOff)
	t.Run("budget", TestAnswersAreWithinTheirBudget)
	t.Run("cursors", TestCursors)
	t.Run("meanwhile", TestRowsThatComeMeanwhileDoNotMoveParts)
	t.Run("arguments", TestArguments)
	t.Run("texts", TestTextsOfOthers)
}
