package main

import (
	"context"
	"os"
	"time"

	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/echo/store/clickhouse"
	"github.com/ingero-io/ingero/echo/store/duckdb"
)

// clickhouseEnv names the environment variable with the password of ClickHouse, which does not belong on a command
// line.
const clickhouseEnv = "INGERO_ECHO_CLICKHOUSE_PASSWORD"

// patience is how long the engine may take to open again; 0: the store's default. Tests shorten it.
var patience time.Duration

// open opens the store that flags name: a file, or a database of ClickHouse.
func (f *serveFlags) open(ctx context.Context, s *settings, env func(string) string) (store.Store, error) {
	if f.store == "" {
		return duckdb.Open(ctx, f.path, duckdb.Options{
			Memory: int64(f.engineMiB) << 20, Logger: s.logger, Patience: patience,
			Stuck: func(error) {
				s.logger.Error("the program ends, to be started again: nothing that was acknowledged is lost")
				os.Exit(1) // closing the store would not end either
			},
		})
	}
	o := clickhouse.Options{
		Password: env(clickhouseEnv), Cluster: f.cluster, Keep: s.retention.Age, Logger: s.logger,
	}
	s.retention.Age = 0 // the engine deletes what is old
	return clickhouse.Open(ctx, f.store, o)
}

// name is what users know the store by.
func (f *serveFlags) name() string {
	if f.store == "" {
		return f.path
	}
	return clickhouse.Redacted(f.store)
}

// leastMiB is how much memory the engine needs to write while it answers questions, in MiB: the store's tests have it.
const leastMiB = 64

// checkStore refuses flags that do not belong together.
func (f *serveFlags) checkStore() error {
	switch {
	case f.store == "" && f.cluster != "":
		return usage("--cluster is of ClickHouse; give --store, too")
	case f.store != "" && f.given("engine-memory-mib"):
		return usage("--engine-memory-mib is for DuckDB; with --store, ClickHouse has its own settings")
	case f.store != "" && f.given("db-path"):
		return usage("give --store or --db-path, not both")
	case f.engineMiB < leastMiB:
		return usage("--engine-memory-mib must be at least %d", leastMiB)
	}
	if f.store != "" && !f.given("keep-gib") {
		f.keepGiB = 0
	}
	return nil
}
