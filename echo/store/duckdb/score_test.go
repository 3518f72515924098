package duckdb_test

import (
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/echo/store/duckdb"
	"github.com/ingero-io/ingero/echo/store/storetest"
)

func TestTheNewestScore(t *testing.T) {
	storetest.NewestScore(t, open(t, filepath.Join(t.TempDir(), "echo.db"), duckdb.Options{}))
}
