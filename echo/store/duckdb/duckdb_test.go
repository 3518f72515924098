package duckdb_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/echo/store/duckdb"
	"github.com/ingero-io/ingero/echo/store/storetest"
)

// childEnv says what a test's child process does instead of the tests, fileEnv names its file.
const childEnv, fileEnv = "INGERO_ECHO_TEST_CHILD", "INGERO_ECHO_TEST_FILE"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "":
		os.Exit(m.Run())
	case "write":
		os.Exit(writeUntilKilled(os.Getenv(fileEnv)))
	case "full":
		os.Exit(writeUntilFull(os.Getenv(fileEnv)))
	}
	os.Exit(3)
}

func open(t *testing.T, path string, o duckdb.Options) *duckdb.Store {
	t.Helper()
	s, err := duckdb.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	storetest.Run(t, storetest.DuckDB, func(t *testing.T, dir string) store.Store {
		s, err := duckdb.Open(t.Context(), filepath.Join(dir, "echo.db"), duckdb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// The same with hardly any keys and series in memory, so that most are read from the file.
func TestConformanceWithFewKeys(t *testing.T) {
	storetest.Run(t, storetest.DuckDB, func(t *testing.T, dir string) store.Store {
		s, err := duckdb.Open(t.Context(), filepath.Join(dir, "echo.db"), duckdb.Options{Keys: 1, Series: 1})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

func TestASecondProcessIsToldWhoHasTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "echo.db")
	open(t, path, duckdb.Options{})
	_, err := duckdb.Open(t.Context(), path, duckdb.Options{})
	var locked *duckdb.LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
		t.Errorf("%v", err)
	}
}

func TestAFileOfANewerVersionIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "echo.db")
	s, err := duckdb.Open(t.Context(), path, duckdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if v := binary.LittleEndian.Uint64(good[12:]); string(good[8:12]) != "DUCK" || v == 0 || v > 100 {
		t.Fatalf("a file does not begin as it is read here: %q, %d", good[8:12], v)
	}
	newer := append([]byte(nil), good...)
	binary.LittleEndian.PutUint64(newer[12:], 1000)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"format":  {newer, "was written by a newer ingero-echo: version 1000 of DuckDB's files"},
		"no file": {[]byte("some text that is no database"), "is no file of DuckDB"},
		"short":   {[]byte("DUCK"), "is no file of DuckDB"},
	} {
		if err := os.WriteFile(path, c.file, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := duckdb.Open(t.Context(), path, duckdb.Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadFile(path); err != nil || string(left) != string(c.file) {
			t.Errorf("%s: the file was changed, %v", name, err)
		}
	}
}

// gauges returns n rows of a second; each has its index as its value, and its own series.
func gauges(n int, second int64) []row.Row {
	return gaugesWith(n, second, func(i int) string { return fmt.Sprintf(`{"second":%d,"i":%d}`, second, i) })
}

// either returns gauges whose series repeat in other seconds, or in every other second gauges whose series do not.
func either(n int, second int64) []row.Row {
	if second%2 == 0 {
		return gauges(n, second)
	}
	return gaugesWith(n, second, func(i int) string { return fmt.Sprintf(`{"i":%d}`, i) })
}

// gaugesWith returns gauges with given attributes.
func gaugesWith(n int, second int64, attrs func(i int) string) []row.Row {
	rows := make([]row.Row, n)
	for i := range rows {
		r := &rows[i]
		*r = row.Row{
			Series: row.NewSeries(row.Series{
				Kind: row.Gauge, Rank: row.None, Metric: "made", Resource: `{}`, Attrs: attrs(i),
			}),
			Timestamp: row.SecondBegins(second) + int64(i), Received: row.SecondBegins(second), Int: int64(i), HasInt: true,
		}
		r.Key = row.Key(r, 0)
	}
	return rows
}

// writeUntilKilled is a child: it writes rows second by second, and prints each second that is stored.
func writeUntilKilled(path string) int {
	s, err := duckdb.Open(context.Background(), path, duckdb.Options{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for second := int64(1); ; second++ {
		if _, err := s.Write(context.Background(), either(500, second)); err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println(second)
		if second%7 == 0 {
			if _, err := s.Retain(context.Background(), 0, store.Retention{}); err != nil { // a checkpoint
				fmt.Println(err)
				return 1
			}
		}
	}
}

func child(t *testing.T, what, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), childEnv+"="+what, fileEnv+"="+path)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewScanner(out)
}

// Acknowledged rows are there exactly once after kill -9, and after all of them are sent again.
func TestKill9LosesNothingThatWasAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "echo.db")
	acknowledged := int64(0)
	for round := range int64(3) {
		c, lines := child(t, "write", path)
		for lines.Scan() {
			second, err := strconv.ParseInt(lines.Text(), 10, 64)
			if err != nil {
				t.Fatalf("the child says: %s", lines.Text())
			}
			acknowledged = max(acknowledged, second)
			if second > 10*(round+1)+round {
				break
			}
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // its output before it was killed
			if second, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
				acknowledged = max(acknowledged, second)
			}
		}
		_ = c.Wait() // it was killed
	}
	s := open(t, path, duckdb.Options{})
	for second := range acknowledged {
		w, err := s.Write(t.Context(), either(500, second+1))
		if err != nil || w.Duplicates != 500 {
			t.Fatalf("of second %d of %d: %+v, %v", second+1, acknowledged, w, err)
		}
	}
	r, err := s.Query(t.Context(), `select count(*), count(distinct (timestamp_ns, attrs_json)) from events
		where timestamp_ns < `+fmt.Sprint(row.SecondBegins(acknowledged+1)), store.Limits{Time: time.Minute, Rows: 1, Bytes: 1000})
	if err != nil || r.Rows[0][0] != 500*acknowledged || r.Rows[0][1] != 500*acknowledged {
		t.Errorf("%v of %d rows, %v", r, 500*acknowledged, err)
	}
}

// writeUntilFull is a child: it writes until its files must not grow any more, and continues when they may.
func writeUntilFull(path string) int {
	say := func(format string, args ...any) int {
		fmt.Printf(format+"\n", args...)
		return 1
	}
	ctx := context.Background()
	s, err := duckdb.Open(ctx, path, duckdb.Options{})
	if err != nil {
		return say("%v", err)
	}
	signal.Ignore(unix.SIGXFSZ) // a write then returns an error
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return say("%v", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 20, Max: old.Max}); err != nil {
		return say("%v", err)
	}
	kept, refused := []int64{}, []int64{}
	for second := int64(1); len(refused) < 5; second++ {
		if second > 10_000 {
			return say("the files grew without end")
		}
		switch _, err := s.Write(ctx, either(1000, second)); {
		case errors.Is(err, store.ErrUnavailable):
			refused = append(refused, second)
		case err != nil:
			return say("another error: %v", err)
		default:
			kept = append(kept, second)
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return say("%v", err)
	}
	for _, second := range refused { // sent again, now that there is space
		if w, err := s.Write(ctx, either(1000, second)); err != nil || w.Rows != 1000 {
			return say("with space again: %+v, %v", w, err)
		}
	}
	for _, second := range kept {
		if w, err := s.Write(ctx, either(1000, second)); err != nil || w.Duplicates != 1000 {
			return say("acknowledged in second %d of %v: %+v, %v", second, kept, w, err)
		}
	}
	if err := s.Close(); err != nil {
		return say("%v", err)
	}
	say("kept %d, refused %d", len(kept), len(refused))
	return 0
}

// A limit on the size of files simulates a full disk.
func TestAFullDiskLosesNothingThatWasAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "echo.db")
	c, lines := child(t, "full", path)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v: %s", err, strings.Join(said, "\n"))
	}
	t.Log(said)
	s := open(t, path, duckdb.Options{})
	st, err := s.Stats(t.Context())
	if err != nil || st.Rows == 0 || st.Rows%1000 != 0 {
		t.Errorf("%+v, %v", st, err)
	}
}
