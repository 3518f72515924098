package clickhouse_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/big"
	"net"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/echo/api"
	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/echo/store/clickhouse"
	"github.com/ingero-io/ingero/echo/store/clickhouse/clickhousetest"
	"github.com/ingero-io/ingero/echo/store/storetest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	clickhousetest.Clean()
	os.Exit(code)
}

// database returns a name for the database of a test's folder.
func database(dir string) string {
	h := fnv.New64()
	fmt.Fprint(h, dir)
	return fmt.Sprintf("t%x", h.Sum64())
}

func open(t *testing.T, s *clickhousetest.Server, database string, o clickhouse.Options) *clickhouse.Store {
	t.Helper()
	st, err := clickhouse.Open(t.Context(), s.URL(database), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func TestConformance(t *testing.T) {
	server := clickhousetest.Start(t, t.TempDir())
	dialect := storetest.ClickHouse
	dialect.Engines = []int{server.PID()}
	storetest.Run(t, dialect, func(t *testing.T, dir string) store.Store {
		s, err := clickhouse.Open(t.Context(), server.URL(database(dir)), clickhouse.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// The same over ClickHouse's own protocol, compressed.
func TestConformanceNatively(t *testing.T) {
	server := clickhousetest.Start(t, t.TempDir())
	dialect := storetest.ClickHouse
	dialect.Engines = []int{server.PID()}
	storetest.Run(t, dialect, func(t *testing.T, dir string) store.Store {
		s, err := clickhouse.Open(t.Context(), server.NativeURL(database(dir)), clickhouse.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// gauges returns n rows of a second; each has its index as its value.
func gauges(n int, second int64) []row.Row {
	rows := make([]row.Row, n)
	for i := range rows {
		r := &rows[i]
		*r = row.Row{
			Series: row.NewSeries(row.Series{
				Kind: row.Gauge, Rank: row.None, Cluster: "east", Node: fmt.Sprint("n", i%4), Metric: "made", Resource: `{}`,
				Attrs: fmt.Sprintf(`{"second":%d,"i":%d}`, second, i),
			}),
			Timestamp: row.SecondBegins(second) + int64(i), Received: row.SecondBegins(second), Int: int64(i), HasInt: true,
		}
		r.Key = row.Key(r, 0)
	}
	return rows
}

func write(t *testing.T, s *clickhouse.Store, rows []row.Row) store.Written {
	t.Helper()
	w, err := s.Write(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// ask returns the first row of an answer as text.
func ask(t *testing.T, s *clickhouse.Store, sql string) string {
	t.Helper()
	r, err := s.Query(t.Context(), sql, store.Limits{Time: time.Minute, Rows: 10, Bytes: 1 << 20})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if len(r.Rows) == 0 {
		return ""
	}
	return strings.Trim(fmt.Sprint(r.Rows[0]), "[]")
}

// There are connections for writing and keeping besides those of all questions that run at a time.
func TestQuestionsLeaveConnectionsForTheWriter(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, cpus := range []int{1, 16, 64} {
		runtime.GOMAXPROCS(cpus)
		n, err := clickhouse.Connections("clickhouse://127.0.0.1:9000/db")
		if err != nil {
			t.Fatal(err)
		}
		if questions := api.AtOnce().Calls; n < questions+8 {
			t.Errorf("%d CPUs: %d connections, and %d questions at a time", cpus, n, questions)
		}
	}
}

// A batch may have rows of very many seconds, which are not named in one statement: that may have 256 KiB.
func TestABatchOfVeryManySeconds(t *testing.T) {
	s := open(t, clickhousetest.Start(t, t.TempDir()), "seconds", clickhouse.Options{})
	const seconds, begin = 25_000, 1_700_000_000
	write(t, s, gauges(1, begin+3*seconds)) // older ones may be there
	rows := make([]row.Row, 0, seconds)
	for i := range int64(seconds) {
		rows = append(rows, gauges(1, begin+2*i)...)
	}
	for _, want := range []store.Written{{Rows: seconds}, {Duplicates: seconds}} {
		if got := write(t, s, rows); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// More minutes than are added up at once; and the minutes of a writer whose clock is behind another's.
func TestMinutesAreAddedUpInSteps(t *testing.T) {
	s := open(t, clickhousetest.Start(t, t.TempDir()), "steps", clickhouse.Options{})
	now := time.Now().Unix()
	add := func(minutes, from, received int64) {
		t.Helper()
		var rows []row.Row
		for i := range minutes {
			r := gauges(1, from+60*i)[0]
			r.Received = row.SecondBegins(received + i/100)
			rows = append(rows, r)
		}
		write(t, s, rows)
		if _, err := s.Retain(t.Context(), 0, store.Retention{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		minutes, from, received int64
		want                    string
	}{
		{2500, 6_000_000, now - 10_000, "2500 2500"},
		{1, 6_000_010, now - 5000, "2501 2500"},  // in the first minute
		{1, 12_000_000, now + 3600, "2502 2501"}, // by a clock that is an hour ahead
		{1, 18_000_000, now, "2503 2502"},
		{1, 18_000_010, now, "2504 2502"},
	} {
		add(step.minutes, step.from, step.received)
		if got := ask(t, s, "select sum(count), count() from minutes"); got != step.want {
			t.Errorf("after %d minutes from %d: %s; want %s", step.minutes, step.from, got, step.want)
		}
	}
}

// Writers do not wait while minutes are added up. What they write meanwhile is added up by the next call.
func TestRowsAreWrittenWhileMinutesAreAddedUp(t *testing.T) {
	s := open(t, clickhousetest.Start(t, t.TempDir()), "meanwhile", clickhouse.Options{})
	now := time.Now().Unix()
	write(t, s, gauges(100, now))
	calls := 0
	err := s.WhileAddingUp(t.Context(), func() {
		if calls++; calls > 1 {
			return
		}
		done := make(chan error, 1)
		go func() {
			_, err := s.Write(t.Context(), gauges(100, now+1))
			done <- err
		}()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(30 * time.Second):
			t.Error("a writer waits while minutes are added up")
		}
	})
	if err != nil || calls == 0 {
		t.Fatal(calls, err)
	}
	if got := ask(t, s, "select count() from events"); got != "200" {
		t.Errorf("%s rows, want 200", got)
	}
	if _, err := s.Retain(t.Context(), 0, store.Retention{}); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, s, "select sum(count) from minutes"); got != "200" {
		t.Errorf("in minutes: %s, want 200", got)
	}
}

// Two programs that write the same rows do not know of each other's. Readers see each row once, also in minutes.
func TestRowsOfTwoWritersCountOnce(t *testing.T) {
	server := clickhousetest.Start(t, t.TempDir())
	a, b := open(t, server, "two", clickhouse.Options{}), open(t, server, "two", clickhouse.Options{})
	for second := range int64(5) {
		if w := write(t, a, gauges(100, 1000+second)); w.Rows != 100 {
			t.Fatalf("%+v", w)
		}
		if w := write(t, b, gauges(100, 1000+second)); w.Rows != 100 {
			t.Fatalf("the second one knows what the first one wrote: %+v; this tests nothing", w)
		}
	}
	for _, s := range []*clickhouse.Store{a, b, a} {
		if _, err := s.Retain(t.Context(), 0, store.Retention{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*clickhouse.Store{a, b} {
		if got := ask(t, s, "select count(), sum(value_int) from events"); got != "500 24750" {
			t.Errorf("of 500 rows: %s", got)
		}
		if got := ask(t, s, "select sum(count), sum(sum), min(min), max(max) from minutes"); got != "500 24750 0 99" {
			t.Errorf("in minutes: %s", got)
		}
	}
	third := open(t, server, "two", clickhouse.Options{})
	if w := write(t, third, gauges(100, 1002)); w.Duplicates != 100 {
		t.Errorf("of rows that are there: %+v", w)
	}
}

// Acknowledged rows are there exactly once after a kill -9 of the server during writes, and after all of them are
// sent again.
func TestKill9LosesNothingThatWasAcknowledged(t *testing.T) {
	for name, address := range map[string]func(*clickhousetest.Server, string) string{
		"over HTTP": (*clickhousetest.Server).URL, "natively": (*clickhousetest.Server).NativeURL,
	} {
		t.Run(name, func(t *testing.T) {
			server := clickhousetest.Start(t, t.TempDir())
			s, err := clickhouse.Open(t.Context(), address(server, "killed"), clickhouse.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			killWhileItWrites(t, server, s)
		})
	}
}

func killWhileItWrites(t *testing.T, server *clickhousetest.Server, s *clickhouse.Store) {
	t.Helper()
	var acknowledged, all []int64
	for round := range 3 {
		var writes sync.WaitGroup
		var mu sync.Mutex
		kept := make(chan struct{}, 1000)
		stop := make(chan struct{})
		writes.Go(func() {
			for second := int64(1000 * (round + 1)); ; second++ {
				select {
				case <-stop:
					return
				default:
				}
				_, err := s.Write(t.Context(), gauges(2000, second))
				mu.Lock()
				all = append(all, second)
				if err == nil {
					acknowledged = append(acknowledged, second)
				}
				mu.Unlock()
				if err != nil {
					if !errors.Is(err, store.ErrUnavailable) {
						t.Errorf("of a server that was killed: %v", err)
					}
					return
				}
				kept <- struct{}{}
			}
		})
		for range 5 {
			<-kept
		}
		server.Kill(t)
		close(stop)
		writes.Wait()
		server.Again(t)
	}
	if len(acknowledged) < 15 {
		t.Fatalf("only %d batches were acknowledged", len(acknowledged))
	}
	for _, second := range all {
		w := write(t, s, gauges(2000, second))
		if slices.Contains(acknowledged, second) && w.Duplicates != 2000 {
			t.Errorf("of second %d, which was acknowledged: %+v", second, w)
		}
	}
	want := fmt.Sprint(2000*len(all), 2000*len(all))
	if got := ask(t, s, "select count(), count(distinct (timestamp_ns, attrs_json)) from events"); got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// Neither a question nor its check waits longer than it may for a server that does not answer.
func TestAServerThatDoesNotAnswerIsNotWaitedFor(t *testing.T) {
	const (
		each = 2 * time.Second
		most = each + 20*time.Second // less than the minute for which a server may be silent
	)
	for name, address := range map[string]func(*clickhousetest.Server, string) string{
		"over HTTP": (*clickhousetest.Server).URL, "natively": (*clickhousetest.Server).NativeURL,
	} {
		t.Run(name, func(t *testing.T) {
			server := clickhousetest.Start(t, t.TempDir())
			s, err := clickhouse.OpenImpatient(t.Context(), address(server, "silent"), each)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			resume := server.Pause(t)
			const question = "select count() from events"
			begin := time.Now()
			if err := s.Check(t.Context(), question); !errors.Is(err, store.ErrAway) || time.Since(begin) > most {
				t.Errorf("it is checked for %v: %v", time.Since(begin), err)
			}
			begin = time.Now()
			_, err = s.Query(t.Context(), question, store.Limits{Time: each, Rows: 1, Bytes: 1 << 20})
			if !errors.As(err, new(*store.LimitError)) || time.Since(begin) > most {
				t.Errorf("it is asked for %v: %v", time.Since(begin), err)
			}
			resume()
			if got := ask(t, s, question); got != "0" {
				t.Error(got)
			}
		})
	}
}

// A question that exceeds its memory ends, and the server frees what it took: it would take gigabytes.
func TestAQuestionThatTakesMemoryIsEndedAndFreesIt(t *testing.T) {
	const (
		rounds = 5
		each   = 256           // MiB per question, if nothing else is asked for
		most   = 1_000_000_000 // bytes by which the server may grow
	)
	server := clickhousetest.Start(t, t.TempDir())
	s := open(t, server, "memory", clickhouse.Options{})
	write(t, s, gauges(20_000, 1000))
	taken := 0
	storetest.ForgetPeak(t, server.PID())
	before, _ := storetest.Memory(t, server.PID())
	for range rounds {
		for _, sql := range []string{
			"select quantile_cont(a.value_int * b.value_int, 0.5) from events a, events b",
			"select a.attrs_json || b.attrs_json as x, count() from events a, events b group by x order by 2",
			"select uniqExact(a.value_int * 100000 + b.value_int) from events a, events b",
		} {
			_, err := s.Query(t.Context(), sql, store.Limits{Time: time.Minute, Rows: 10, Bytes: 1 << 20})
			if limit, ok := errors.AsType[*store.LimitError](err); !ok {
				t.Fatalf("%s: %v; want a limit", sql, err)
			} else if strings.Contains(limit.Limit, "memory") {
				taken += each << 20
			}
		}
	}
	after, peak := storetest.Memory(t, server.PID())
	t.Logf("%d MB before, at most %d, then %d; %d were taken", before/1e6, peak/1e6, after/1e6, taken/1e6)
	if taken < 2*most {
		t.Errorf("all of them took %d bytes, which tests nothing", taken)
	}
	if peak-before >= most {
		t.Errorf("the questions took %d bytes, and the server grew by %d", taken, peak-before)
	}
	if after > 1000<<20 {
		t.Errorf("the server has %d bytes afterwards", after)
	}
	if got := ask(t, s, "select count() from events"); got != "20000" {
		t.Error(got)
	}
}

// The engine deletes old rows when it merges.
func TestOldRowsExpire(t *testing.T) {
	server := clickhousetest.Start(t, t.TempDir())
	now := time.Now().Unix()
	old, young := gauges(10, now-7200), gauges(10, now)
	s := open(t, server, "expire", clickhouse.Options{})
	write(t, s, append(old, young...))
	if got := ask(t, s, "select count() from events"); got != "20" {
		t.Errorf("without a limit: %s", got)
	}
	for _, keep := range []time.Duration{24 * time.Hour, time.Hour, time.Hour, 0} {
		s = open(t, server, "expire", clickhouse.Options{Keep: keep})
		raw := direct(t, server, "expire")
		if keep > 0 { // the server does it in a while
			if err := raw.Exec(t.Context(), "alter table point materialize ttl settings mutations_sync = 2"); err != nil {
				t.Fatal(err)
			}
		}
		if err := raw.Exec(t.Context(), "optimize table point final"); err != nil {
			t.Fatal(err)
		}
		want := "10"
		if keep == 24*time.Hour {
			want = "20"
		}
		if got := ask(t, s, "select count() from events"); got != want {
			t.Errorf("of %s: %s rows, want %s", keep, got, want)
		}
	}
}

// direct returns a connection that bypasses the store.
func direct(t *testing.T, s *clickhousetest.Server, database string) driver.Conn {
	t.Helper()
	options, err := ch.ParseDSN(s.URL(database))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := ch.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	server := clickhousetest.Start(t, t.TempDir())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ address, want string }{
		"away":           {"http://" + nobody + "/db", "ClickHouse does not answer at " + nobody},
		"away, natively": {"clickhouse://" + nobody + "/db", "ClickHouse does not answer at " + nobody},
		"a wrong password": {
			"http://default:wrong@" + server.Address + "/db", `does not let the user "default" in, or not do this; the password is in`,
		},
		"a wrong password, natively": {
			"clickhouse://default:wrong@" + server.Native + "/db", `does not let the user "default" in, or not do this; the password is in`,
		},
		"no address":       {"echo.db", "must be like clickhouse://HOST:9000/DATABASE"},
		"another database": {"postgres://127.0.0.1/db", "must be like clickhouse://"},
		"the wrong port":   {"clickhouse://" + server.Address + "/db", server.Address},
	} {
		_, err := clickhouse.Open(t.Context(), c.address, clickhouse.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "wrong@") {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
	s, err := clickhouse.Open(t.Context(), "http://"+server.Address+"/db", clickhouse.Options{Password: clickhousetest.Password})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, address := range []string{
		"http://default:" + clickhousetest.Password + "@" + nobody + "," + server.Address + "/db",
		"clickhouse://default:" + clickhousetest.Password + "@" + nobody + "," + server.Native + "/db",
	} {
		s, err := clickhouse.Open(t.Context(), address, clickhouse.Options{})
		if err != nil {
			t.Errorf("of two hosts: %v", err)
			continue
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := clickhouse.Redacted("clickhouse://a:b@c:1,d:2/e?password=f"); got != "clickhouse://a:xxxxx@c:1/e?password=xxxxx" {
		t.Error(got)
	}
	if got := clickhouse.Redacted("http://a:b@c/d?password=e"); strings.ContainsAny(got, "be") {
		t.Errorf("a password is in %s", got)
	}
}

// Tables of a newer version are refused and stay unchanged.
func TestNewerTablesAreRefusedUntouched(t *testing.T) {
	server := clickhousetest.Start(t, t.TempDir())
	s := open(t, server, "newer", clickhouse.Options{})
	write(t, s, gauges(10, 1000))
	raw := direct(t, server, "newer")
	for _, statement := range []string{"insert into meta (version) values (1000)", "drop view health", "drop table minute"} {
		if err := raw.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	before := tables(t, raw)
	_, err := clickhouse.Open(t.Context(), server.URL("newer"), clickhouse.Options{Keep: time.Hour})
	newer, ok := errors.AsType[*clickhouse.NewerError](err)
	if !ok || newer.Found != 1000 || !strings.Contains(err.Error(), "was made by a newer ingero-echo: version 1000") {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(before, tables(t, raw)); diff != "" || len(before) == 0 {
		t.Errorf("the tables were changed (-before +after):\n%s", diff)
	}
}

// tables returns the statements that make the tables and views of a database.
func tables(t *testing.T, conn driver.Conn) []string {
	t.Helper()
	return texts(t, conn, "select create_table_query from system.tables where database = currentDatabase() order by name")
}

// Tables of an older version become those of this one, with all rows.
func TestOlderTablesAreMigrated(t *testing.T) {
	server := clickhousetest.Start(t, t.TempDir())
	old, err := clickhouse.OpenVersion(t.Context(), server.URL("older"), 1)
	if err != nil {
		t.Fatal(err)
	}
	write(t, old, gauges(100, 1000))
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	before := tables(t, direct(t, server, "older"))
	s := open(t, server, "older", clickhouse.Options{})
	if w := write(t, s, gauges(100, 1000)); w.Duplicates != 100 {
		t.Errorf("%+v", w)
	}
	if _, err := s.Retain(t.Context(), 0, store.Retention{}); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, s, "select sum(count) from minutes"); got != "100" {
		t.Errorf("in minutes: %s", got)
	}
	fresh := open(t, server, "fresh", clickhouse.Options{})
	if got := ask(t, fresh, "select count() from events"); got != "0" {
		t.Error(got)
	}
	after, want := tables(t, direct(t, server, "older")), tables(t, direct(t, server, "fresh"))
	for i := range after {
		after[i] = strings.ReplaceAll(after[i], "older.", "fresh.")
	}
	if diff := cmp.Diff(want, after); diff != "" || len(before) >= len(after) {
		t.Errorf("%d tables before; those of a new database differ (-new +migrated):\n%s", len(before), diff)
	}
}

// Tables whose partitions are days, as they were made before 2026-12, are used as they are.
func TestPartitionsOfADay(t *testing.T) {
	server := clickhousetest.Start(t, t.TempDir())
	old, err := clickhouse.OpenVersion(t.Context(), server.URL("days"), 2)
	if err != nil {
		t.Fatal(err)
	}
	made := texts(t, direct(t, server, "days"),
		"select create_table_query from system.tables where database = 'days' and name = 'point'")
	days := strings.Replace(made[0], "PARTITION BY intDiv(timestamp_ns, 3600000000000)",
		"PARTITION BY intDiv(timestamp_ns, 86400000000000)", 1)
	for _, statement := range []string{"drop table point", days} {
		if err := old.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if days == made[0] {
		t.Fatal("partitions are no longer hours; this tests nothing")
	}
	write(t, old, gauges(100, 100_000))
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	s := open(t, server, "days", clickhouse.Options{})
	another := open(t, server, "days", clickhouse.Options{})
	write(t, s, gauges(200, 100_000)) // of which 100 are there
	write(t, another, gauges(100, 130_000))
	write(t, s, gauges(100, 130_000)) // it may not know of the other one's
	if _, err := s.Retain(t.Context(), 0, store.Retention{}); err != nil {
		t.Fatal(err)
	}
	const all = "select count(), sum(value_int), count(distinct intDiv(timestamp_ns, 86400000000000)) from events"
	if got := ask(t, s, all); got != "300 24850 1" {
		t.Errorf("%s", got)
	}
	if got := ask(t, s, "select sum(count), count() from minutes where minute_ns >= 0"); got != "300 8" {
		t.Errorf("in minutes: %s", got)
	}
}

// The parts of an hour in which nothing more comes become one. The age after which they do is lower here.
func TestAnHourBecomesOnePart(t *testing.T) {
	server := clickhousetest.Start(t, t.TempDir())
	s := open(t, server, "hours", clickhouse.Options{})
	const hour = 3600
	for i := range int64(6) {
		write(t, s, gauges(100, 10*hour+i))
		write(t, s, gauges(100, 11*hour+i))
	}
	raw := direct(t, server, "hours")
	set := texts(t, raw, "select engine_full from system.tables where database = 'hours' and name = 'point'")
	if !strings.Contains(set[0], "min_age_to_force_merge_seconds = 600, min_age_to_force_merge_on_partition_only = 1") {
		t.Error(set)
	}
	if err := raw.Exec(t.Context(), "alter table point modify setting min_age_to_force_merge_seconds = 1"); err != nil {
		t.Fatal(err)
	}
	const parts = "select count() || ' of ' || partition from system.parts where database = 'hours' and table = 'point' " +
		"and active and rows > 0 group by partition order by partition"
	want := []string{"1 of 10", "1 of 11"}
	var got []string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if got = texts(t, raw, parts); slices.Equal(got, want) {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the parts are %q; want %q", got, want)
	}
	if got := ask(t, s, "select count(), sum(value_int) from events"); got != "1200 59400" {
		t.Error(got)
	}
}

// Values of all types become those of a store.Result.
func TestValues(t *testing.T) {
	server := clickhousetest.Start(t, t.TempDir())
	for name, address := range map[string]string{"over HTTP": server.URL("values"), "natively": server.NativeURL("values")} {
		s, err := clickhouse.Open(t.Context(), address, clickhouse.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		day := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
		huge, _ := new(big.Int).SetString("170141183460469231731687303715884105727", 10)
		for sql, want := range map[string]any{
			"1": uint64(1), "-1": int64(-1), "1.5": 1.5, "'x'": "x", "null": nil, "true": true, "1 = 1": uint64(1), "toDate('2026-11-26')": day,
			"toDateTime('2026-11-26 00:00:00', 'UTC')": day, "toDateTime64('2026-11-26 00:00:00', 9, 'UTC')": day, "1.25::Decimal(9, 2)": 1.25,
			"[1, null]": []any{uint64(1), nil}, "(1, 'a')": []any{uint64(1), "a"}, "[(1, [2.5])]": []any{[]any{uint64(1), []any{2.5}}},
			"'170141183460469231731687303715884105727'::Int128": huge, "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'::UUID": "61f0c404-5cb3-11e7-907b-a6006ad3dba0",
			"'10.0.0.1'::IPv4": "10.0.0.1", "'x'::LowCardinality(Nullable(String))": "x", "CAST(('a', 1), 'Tuple(s String, n UInt8)')": map[string]any{"s": "a", "n": uint64(1)},
			"CAST(([1], ['a']), 'Map(UInt8, String)')": map[string]any{"1": "a"}, "1::Nullable(Int32)": int64(1), "'x'::FixedString(1)": "x",
		} {
			r, err := s.Query(t.Context(), "select "+sql+" as v", store.Limits{Time: time.Minute, Rows: 10, Bytes: 1 << 20})
			if err != nil || len(r.Rows) != 1 {
				t.Errorf("%s: %s: %+v, %v", name, sql, r, err)
				continue
			}
			if diff := cmp.Diff(want, r.Rows[0][0], cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 })); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", name, sql, diff)
			}
		}
	}
}

// A question about a cluster, a metric and a time does not read the whole table.
func TestQuestionsUseTheOrder(t *testing.T) {
	server := clickhousetest.Start(t, t.TempDir())
	s := open(t, server, "ordered", clickhouse.Options{})
	rows := gauges(20_000, 1000)
	for i := range rows {
		rows[i].Metric = fmt.Sprint("m", i%10)
	}
	write(t, s, rows)
	plan := strings.Join(texts(t, direct(t, server, "ordered"),
		"explain indexes = 1 select count() from events where cluster_id = 'east' and metric_name = 'm1' and timestamp_ns > 1"), "\n")
	m := regexp.MustCompile(`(?s)PrimaryKey.*?cluster_id\s+metric_name\s+timestamp_ns.*?Granules: (\d+)/(\d+)`).FindStringSubmatch(plan)
	if m == nil || m[1] == m[2] {
		t.Errorf("%v of\n%s", m, plan)
	}
}

// texts returns the rows of a statement with one column.
func texts(t *testing.T, conn driver.Conn, statement string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			t.Fatal(err)
		}
		list = append(list, one)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}
