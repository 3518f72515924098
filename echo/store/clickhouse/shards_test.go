package clickhouse_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/echo/store/clickhouse"
	"github.com/ingero-io/ingero/echo/store/clickhouse/clickhousetest"
	"github.com/ingero-io/ingero/echo/store/storetest"
)

// shards are three servers, and a fourth that is asked about all of them. The engine Distributed needs ClickHouse's
// own protocol between servers, so the test replaces it: rows go to the shard that their key selects, and the views
// of the fourth server read tables of the engine URL, one per shard.
type shards struct {
	stores []*clickhouse.Store
	front  *clickhouse.Store
}

// openShards opens a database on all servers. The last one is asked.
func openShards(ctx context.Context, servers []*clickhousetest.Server, name string) (_ *shards, err error) {
	s := &shards{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	last := servers[len(servers)-1]
	make, err := clickhouse.OpenVersion(ctx, last.URL(name), 2) // the tables: the shards' have the same columns
	if err != nil {
		return nil, err
	}
	defer make.Close()
	var points, minutes []string
	for i, server := range servers[:len(servers)-1] {
		st, err := clickhouse.Open(ctx, server.URL(name), clickhouse.Options{})
		if err != nil {
			return nil, err
		}
		s.stores = append(s.stores, st)
		for _, table := range []string{"point", "minute"} {
			q := url.Values{
				"query": {"select * from " + table + " final format Native"}, "database": {name}, "user": {"default"},
				"password": {clickhousetest.Password},
			}
			if err := make.Exec(ctx, fmt.Sprintf("create table if not exists %s_%d as %s engine = URL('http://%s/?%s', 'Native')",
				table, i, table, server.Address, q.Encode())); err != nil {
				return nil, err
			}
		}
		points, minutes = append(points, fmt.Sprint("select * from point_", i)), append(minutes, fmt.Sprint("select * from minute_", i))
	}
	s.front, err = clickhouse.OpenFront(ctx, last.URL(name)+"?http_max_tries=1",
		"("+strings.Join(points, " union all ")+")", "("+strings.Join(minutes, " union all ")+")")
	return s, err
}

func (s *shards) Write(ctx context.Context, rows []row.Row) (store.Written, error) {
	split := make([][]row.Row, len(s.stores))
	for _, r := range rows {
		i := r.Key % uint64(len(split))
		split[i] = append(split[i], r)
	}
	var all store.Written
	for i, st := range s.stores {
		w, err := st.Write(ctx, split[i])
		if err != nil {
			return store.Written{}, err
		}
		all.Rows += w.Rows
		all.Duplicates += w.Duplicates
	}
	return all, nil
}

func (s *shards) Check(ctx context.Context, sql string) error { return s.front.Check(ctx, sql) }

func (s *shards) Query(ctx context.Context, sql string, l store.Limits) (*store.Result, error) {
	return s.front.Query(ctx, sql, l)
}

func (s *shards) Retain(ctx context.Context, now int64, r store.Retention) (int64, error) {
	var all int64
	r.Bytes /= int64(len(s.stores))
	for _, st := range s.stores {
		n, err := st.Retain(ctx, now, r)
		if err != nil {
			return 0, err
		}
		all += n
	}
	return all, nil
}

func (s *shards) Stats(ctx context.Context) (store.Stats, error) {
	var all store.Stats
	for _, st := range s.stores {
		one, err := st.Stats(ctx)
		if err != nil {
			return store.Stats{}, err
		}
		all.Rows += one.Rows
		all.Bytes += one.Bytes
		if all.Oldest == 0 || one.Oldest != 0 && one.Oldest < all.Oldest {
			all.Oldest = one.Oldest
		}
	}
	return all, nil
}

func (s *shards) Close() error {
	var err error
	for _, st := range s.stores {
		err = errors.Join(err, st.Close())
	}
	if s.front != nil {
		err = errors.Join(err, s.front.Close())
	}
	return err
}

// startShards starts three servers, and the one that is asked.
func startShards(t *testing.T) []*clickhousetest.Server {
	t.Helper()
	servers := make([]*clickhousetest.Server, 4)
	for i := range servers {
		servers[i] = clickhousetest.Start(t, t.TempDir())
	}
	return servers
}

func TestConformanceOfThreeShards(t *testing.T) {
	servers := startShards(t)
	dialect := storetest.ClickHouse
	dialect.Spread = true
	storetest.Run(t, dialect, func(t *testing.T, dir string) store.Store {
		s, err := openShards(t.Context(), servers, database(dir))
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// A question fails while a shard is away: it is never answered from the others only.
func TestAShardThatIsAwayIsNotLeftOut(t *testing.T) {
	servers := startShards(t)
	s, err := openShards(t.Context(), servers, "away")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	rows := gauges(3000, 1000)
	if _, err := s.Write(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	limits := store.Limits{Time: 20 * time.Second, Rows: 10, Bytes: 1 << 20}
	const question = "select count() from events"
	count := func() string {
		r, err := s.Query(t.Context(), question, limits)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(r.Rows[0][0])
	}
	if got := count(); got != "3000" {
		t.Fatal(got)
	}
	servers[1].Kill(t)
	for _, sql := range []string{question, "select * from events limit 1", "select rank from events union all select 1"} {
		if r, err := s.Query(t.Context(), sql, limits); err == nil {
			t.Errorf("%s, without a shard: %v", sql, r.Rows)
		} else if !errors.Is(err, store.ErrAway) {
			t.Errorf("%s, without a shard: %v", sql, err)
		}
	}
	if _, err := s.Write(t.Context(), gauges(300, 2000)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("written without a shard: %v", err)
	}
	servers[1].Again(t)
	if w, err := s.Write(t.Context(), gauges(300, 2000)); err != nil || w.Rows+w.Duplicates != 300 || w.Duplicates == 0 {
		t.Errorf("sent again: %+v, %v; a part was there", w, err)
	}
	if got := count(); got != "3300" {
		t.Error(got)
	}
}

// In a cluster all tables are made on all servers, replicated if they have rows, and read through Distributed.
func TestStatementsForACluster(t *testing.T) {
	list, err := clickhouse.Statements("main cluster", "echo")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, statement := range list {
		head, _, _ := strings.Cut(statement, " on cluster `main cluster`")
		switch {
		case head == statement:
			t.Errorf("on one server only: %s", statement)
		case strings.HasPrefix(head, "create or replace view "):
			kinds["view"]++
			if !strings.Contains(statement, "from point final") && !strings.Contains(statement, "from minute final") {
				t.Errorf("it reads what is there twice: %s", statement)
			}
		case strings.HasSuffix(head, "_local"):
			kinds["local"]++
			table := strings.TrimPrefix(head, "create table if not exists ")
			want := "engine = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/echo/" + table + "', '{replica}'"
			if !strings.Contains(statement, want) {
				t.Errorf("no %s in %s", want, statement)
			}
		default:
			kinds["distributed"]++
			if !strings.Contains(statement, "engine = Distributed(`main cluster`, currentDatabase(), ") {
				t.Errorf("not distributed: %s", statement)
			}
		}
	}
	if kinds["view"] != 6 || kinds["local"] != 2 || kinds["distributed"] != 2 {
		t.Errorf("%v", kinds)
	}
	if !strings.Contains(strings.Join(list, "\n"), "currentDatabase(), point_local, key)") {
		t.Error("rows that are the same do not have the same shard")
	}
	alone, err := clickhouse.Statements("", "echo")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range alone {
		for _, word := range []string{"on cluster", "Replicated", "Distributed", "_local"} {
			if strings.Contains(statement, word) {
				t.Errorf("%s on one server: %s", word, statement)
			}
		}
	}
}

// The engine parses all statements for a cluster; it refuses those that need one only when they run.
func TestTheEngineReadsStatementsForACluster(t *testing.T) {
	server := clickhousetest.Start(t, t.TempDir())
	conn := direct(t, server, "default")
	list, err := clickhouse.Statements("main cluster", "echo")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range list {
		tree := texts(t, conn, "explain ast "+statement)
		if len(tree) == 0 || !strings.HasPrefix(tree[0], "CreateQuery") {
			t.Errorf("%q of %s", tree, statement)
		}
	}
}
