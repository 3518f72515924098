package clickhouse_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/echo/store/clickhouse"
	"github.com/ingero-io/ingero/echo/store/clickhouse/clickhousetest"
	"github.com/ingero-io/ingero/echo/store/storetest"
)

// shards are three servers, and a fourth that is asked about all of them. The engine Distributed needs servers that add
// up a part of an answer, so the test replaces it: rows go to the shard that their key selects, and the table of
// the fourth server reads tables of the engine URL, one per shard. As in a cluster, that server adds up minutes.
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
	make, err := clickhouse.OpenVersion(ctx, last.URL(name), 3) // the tables: the shards' have the same columns
	if err != nil {
		return nil, err
	}
	defer make.Close()
	for i, server := range servers[:len(servers)-1] {
		st, err := clickhouse.Open(ctx, server.URL(name), clickhouse.Options{})
		if err != nil {
			return nil, err
		}
		s.stores = append(s.stores, st)
		q := url.Values{
			"query": {"select * from point final format Native"}, "database": {name}, "user": {"default"},
			"password": {clickhousetest.Password},
		}
		if err := make.Exec(ctx, fmt.Sprintf("create table if not exists point_%d as point engine = URL('http://%s/?%s', 'Native')",
			i, server.Address, q.Encode())); err != nil {
			return nil, err
		}
	}
	const all = "create or replace table point as point_0 engine = Merge(currentDatabase(), '^point_[0-9]$')"
	if err := make.Exec(ctx, all); err != nil {
		return nil, err
	}
	s.front, err = clickhouse.Open(ctx, last.URL(name)+"?http_max_tries=1", clickhouse.Options{})
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
	if _, err := s.front.Retain(ctx, now, store.Retention{}); err != nil { // adds up
		return 0, err
	}
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
	for _, server := range servers {
		dialect.Engines = append(dialect.Engines, server.PID())
	}
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

// sent returns what a store sends to the servers of a cluster, or to one server.
func sent(t *testing.T, cluster string) (statements, questions []string) {
	t.Helper()
	statements, questions, err := clickhouse.Sent(t.Context(), cluster, "echo")
	if err != nil {
		t.Fatal(err)
	}
	return statements, questions
}

// Short statements for a cluster, word for word.
var forACluster = []string{
	"create database if not exists `echo` on cluster `main cluster`",
	"create table if not exists meta on cluster `main cluster` (version UInt32, made DateTime default now()) " +
		"engine = ReplicatedMergeTree('/clickhouse/echo/meta', '{shard}-{replica}') order by version",
	"insert into meta (version) values (1)",
	"create table if not exists point on cluster `main cluster` as point_local\n" +
		"engine = Distributed(`main cluster`, currentDatabase(), point_local, key)",
	"insert into meta (version) values (2)",
	"create table if not exists minute on cluster `main cluster` as minute_local\n" +
		"engine = Distributed(`main cluster`, currentDatabase(), minute_local, cityHash64(cluster_id, node_id))",
	"alter table point_local on cluster `main cluster`\nmodify setting min_age_to_force_merge_seconds = 600, " +
		"min_age_to_force_merge_on_partition_only = 1",
	"insert into meta (version) values (3)",
	"alter table point_local on cluster `main cluster` modify ttl " +
		"toDateTime(intDiv(received_ns, 1000000000)) + toIntervalSecond(3600)",
	"alter table minute_local on cluster `main cluster` modify ttl " +
		"toDateTime(intDiv(minute_ns, 1000000000)) + toIntervalSecond(3600)",
	"alter table point_local on cluster `main cluster` remove ttl",
	"alter table minute_local on cluster `main cluster` remove ttl",
	"alter table point_local on cluster `main cluster` delete where received_ns < 3600000000000",
	"alter table minute_local on cluster `main cluster` delete where minute_ns < 3600000000000",
}

// In a cluster all tables are made on all servers, replicated if they have rows, and read through Distributed. What is
// changed is changed on all servers.
func TestStatementsForACluster(t *testing.T) {
	statements, questions := sent(t, "main cluster")
	kinds := map[string]int{}
	var short []string
	for _, statement := range statements {
		head, _, on := strings.Cut(statement, " on cluster `main cluster`")
		switch {
		case strings.HasPrefix(head, "create or replace view ") && on:
			kinds["view"]++
			if !strings.Contains(statement, "from point final") && !strings.Contains(statement, "from minute final") {
				t.Errorf("it reads what is there twice: %s", statement)
			}
		case strings.HasPrefix(head, "create table ") && strings.HasSuffix(head, "_local") && on:
			kinds["local"]++
			table := strings.TrimPrefix(head, "create table if not exists ")
			want := "engine = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/echo/" + table + "', '{replica}'"
			if !strings.Contains(statement, want) {
				t.Errorf("no %s in %s", want, statement)
			}
		case strings.HasPrefix(head, "insert into minute\n"):
			kinds["minute"]++
		default:
			short = append(short, statement)
		}
	}
	if want := map[string]int{"view": 6, "local": 2, "minute": 1}; !maps.Equal(kinds, want) {
		t.Errorf("%v; want %v", kinds, want)
	}
	want := slices.Sorted(slices.Values(forACluster)) // how long rows are kept is set in any order
	slices.Sort(short)
	if diff := cmp.Diff(want, short); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	all := strings.Join(questions, "\n")
	for _, want := range []string{
		"from clusterAllReplicas(`main cluster`, system.mutations)\n\t\twhere database = 'echo' and table = 'point_local'",
		"from cluster(`main cluster`, system.parts) where database = 'echo' and active and table in ('point_local', 'minute_local')",
		"select count() from point final where received_ns < 3600000000000",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("nobody asks %q, but\n%s", want, all)
		}
	}
	statements, questions = sent(t, "")
	for _, statement := range append(statements, questions...) {
		for _, word := range []string{"on cluster", "Replicated", "Distributed", "_local", "cluster("} {
			if strings.Contains(statement, word) {
				t.Errorf("%s on one server: %s", word, statement)
			}
		}
	}
}

// A minute's rows are on all shards. The server that is asked finds the minutes of new rows once, for all of them: a
// shard that looked for new rows among its own only would leave out what the others need of a late row's minute. No
// shard adds up for itself, and none is left out.
func TestMinutesOfAClusterAreThoseOfAllShards(t *testing.T) {
	statements, _ := sent(t, "main cluster")
	i := slices.IndexFunc(statements, func(s string) bool { return strings.HasPrefix(s, "insert into minute") })
	if i < 0 {
		t.Fatal("minutes are not added up")
	}
	statement := strings.Join(strings.Fields(statements[i]), " ")
	const want = "from point final where metric_name is not null and coalesce(value_double, toFloat64(value_int), " +
		"sum / nullIf(count, 0)) is not null and intDiv(timestamp_ns, 3600000000000) in (0) and " +
		"intDiv(timestamp_ns, 60000000000) in (1)) group by "
	if !strings.Contains(statement, want) || strings.Count(statement, "select") != 2 {
		t.Errorf("no %q in %s", want, statement)
	}
	settings := clickhouse.MinuteSettings()
	for name, want := range map[string]any{
		"parallel_distributed_insert_select": 0, "distributed_product_mode": "deny", "skip_unavailable_shards": 0,
		"insert_distributed_sync": 1,
	} {
		if settings[name] != want {
			t.Errorf("%s is %v; want %v", name, settings[name], want)
		}
	}
}

// The same, with the engine Distributed: a row that comes late, on one shard, leaves nothing of its minute out. The
// older analyzer needs less of what servers tell each other. A shard looks for tables in the database default.
func TestALateRowsMinuteHasTheRowsOfAllShards(t *testing.T) {
	var addresses []string
	var stores []*clickhouse.Store
	for range 2 {
		server := clickhousetest.Start(t, t.TempDir())
		addresses, stores = append(addresses, server.Native), append(stores, open(t, server, "default", clickhouse.Options{}))
	}
	asked := clickhousetest.Start(t, t.TempDir())
	s, err := clickhouse.Open(t.Context(), asked.URL("default")+"?enable_analyzer=0", clickhouse.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Exec(t.Context(), fmt.Sprintf("create or replace table point as remote('%s', 'default', 'point', 'default', '%s')",
		strings.Join(addresses, ","), clickhousetest.Password)); err != nil {
		t.Fatal(err)
	}
	late := gauges(1, 1002)
	late[0].Received = row.SecondBegins(2002)
	for _, step := range []struct {
		rows [2][]row.Row
		want string
	}{
		{[2][]row.Row{gauges(4, 1000), gauges(4, 1001)}, "8 4 2"},
		{[2][]row.Row{gauges(1, 2000), gauges(1, 2001)}, "10 5 2"}, // another minute
		{[2][]row.Row{late, nil}, "11 5 3"},
	} {
		for i, st := range stores {
			write(t, st, step.rows[i])
		}
		if _, err := s.Retain(t.Context(), 0, store.Retention{}); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, s, "select sum(count), count(), max(count) from minutes"); got != step.want {
			t.Errorf("%s; want %s", got, step.want)
		}
	}
}

// The engine parses all statements for a cluster; it refuses those that need one only when they run.
func TestTheEngineReadsStatementsForACluster(t *testing.T) {
	server := clickhousetest.Start(t, t.TempDir())
	conn := direct(t, server, "default")
	statements, questions := sent(t, "main cluster")
	kinds := map[string]string{"create": "CreateQuery", "alter": "AlterQuery", "insert": "InsertQuery", "select": "SelectWith"}
	for _, statement := range append(statements, questions...) {
		first, _, _ := strings.Cut(statement, " ")
		tree := texts(t, conn, "explain ast "+statement)
		if len(tree) == 0 || kinds[first] == "" || !strings.HasPrefix(tree[0], kinds[first]) {
			t.Errorf("%q of %s", tree, statement)
		}
	}
}
