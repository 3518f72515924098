package clickhouse_test

import (
	"testing"

	"github.com/ingero-io/ingero/echo/store/clickhouse"
	"github.com/ingero-io/ingero/echo/store/clickhouse/clickhousetest"
	"github.com/ingero-io/ingero/echo/store/storetest"
)

func TestTheNewestScore(t *testing.T) {
	storetest.NewestScore(t, open(t, clickhousetest.Start(t, t.TempDir()), "scores", clickhouse.Options{}))
}
