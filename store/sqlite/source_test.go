package sqlite_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	zsqlite "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// childPath makes the test binary a writer that runs until it is killed.
const childPath = "INGERO_TEST_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		if err := writeForever(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// writeForever records a load, flushing every 4,400 calls and printing how many are on disk. After
// 100,000 it is slow: a reader on a busy machine would have more to read each time.
func writeForever(path string) error {
	w, err := storetest.OpenWriter(path, sqlite.Options{RawRate: 1 << 30})
	if err != nil {
		return err
	}
	n, flushed := 0, 0
	storetest.Load{Calls: 1 << 40, Rate: 20_000}.Batches(func(b *store.Batch) bool {
		if err = w.Write(b); err != nil {
			return false
		}
		n += len(b.Calls)
		slow := n > 100_000
		if n-flushed >= 4400 || slow {
			if err = w.Flush(context.Background()); err != nil {
				return false
			}
			flushed = n
			fmt.Println(n)
			time.Sleep(50 * time.Millisecond) // about 60,000 calls a second
			if slow {
				time.Sleep(50 * time.Millisecond) // about 4,000
			}
		}
		return true
	})
	return err
}

// startWriter runs writeForever in another process until it has flushed at
// least the given number of calls.
func startWriter(t *testing.T, path string, calls int) (kill func(), next func() int) {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childPath+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	next = func() int {
		n := 0
		if !lines.Scan() {
			t.Fatal("the writing process ended")
		}
		fmt.Sscan(lines.Text(), &n)
		return n
	}
	killed := false
	kill = func() {
		if !killed {
			killed = true
			cmd.Process.Signal(syscall.SIGKILL)
			cmd.Wait()
		}
	}
	t.Cleanup(kill)
	for next() < calls {
	}
	return kill, next
}

func TestReadingLeavesAClosedFileAlone(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{})
	must(t, w.Write(fullBatch(t)))
	must(t, w.Close())
	if names := listing(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("closing left %v", names)
	}
	must(t, os.Chmod(path, 0o444))
	must(t, os.Chmod(filepath.Dir(path), 0o555))
	t.Cleanup(func() { os.Chmod(filepath.Dir(path), 0o755) })
	unchanged(t, path)
	r := reader(t, path)
	if n := len(allCalls(t, r)); n != 2 {
		t.Errorf("%d calls", n)
	}
	rows := query(t, path, "select count(*) from events")
	if rows[0][0] != int64(13) {
		t.Errorf("events: %v", rows)
	}
}

func TestReadingWhatAKilledWriterLeft(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "killed.db")
	kill, _ := startWriter(t, path, 50_000)
	kill()
	if fileSize(t, path+"-wal") <= 0 || fileSize(t, path+"-shm") <= 0 {
		t.Fatal("the killed writer left no log: the test tests nothing")
	}
	t.Run("with shared memory", func(t *testing.T) {
		unchanged(t, path)
		checkKilled(t, path)
	})
	t.Run("without shared memory", func(t *testing.T) {
		dir := t.TempDir()
		bare := filepath.Join(dir, "bare.db")
		for _, suffix := range []string{"", "-wal"} {
			b, err := os.ReadFile(path + suffix)
			must(t, err)
			must(t, os.WriteFile(bare+suffix, b, 0o444))
		}
		unchanged(t, bare)
		checkKilled(t, bare)
	})
	t.Run("resumed", func(t *testing.T) {
		w := open(t, path, sqlite.Options{})
		must(t, w.Write(fullBatch(t)))
		must(t, w.Close())
		sum, err := reader(t, path).Summary(t.Context())
		must(t, err)
		if len(sum.Sessions) != 2 || sum.Sessions[0].Stopped != 0 {
			t.Errorf("sessions after a kill and a new run: %+v", sum.Sessions)
		}
	})
}

func checkKilled(t *testing.T, path string) {
	t.Helper()
	r := reader(t, path)
	sum, err := r.Summary(t.Context())
	must(t, err)
	stored := uint64(len(allCalls(t, r)))
	stats, err := store.List[store.OpStat](t.Context(), r, store.Window{})
	must(t, err)
	var counted uint64
	for _, s := range stats {
		counted += s.Calls
	}
	if sum.Calls < 50_000 || stored != sum.Calls || counted != sum.Calls {
		t.Errorf("after a kill: %d calls by the session, %d rows, %d in roll-ups", sum.Calls, stored, counted)
	}
	r.Close()
	rows := query(t, path, "select count(*) from calls")
	if rows[0][0] != int64(stored) {
		t.Errorf("SQL sees %v of %d calls", rows[0][0], stored)
	}
}

func TestReadingWhileAnotherProcessWrites(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "live.db")
	_, next := startWriter(t, path, 20_000)
	r := reader(t, path)
	var last uint64
	grew := 0
	for range 6 {
		next()
		sum, err := r.Summary(t.Context())
		must(t, err)
		if sum.Calls < last {
			t.Fatalf("calls fell from %d to %d", last, sum.Calls)
		}
		if sum.Calls > last {
			grew++
		}
		last = sum.Calls
		var n uint64
		must(t, r.Calls(t.Context(), store.Window{}, func(c *event.Call) bool { n++; return true }))
		if n < last {
			t.Fatalf("%d rows although the session says %d", n, last)
		}
		query(t, path, "select op, count(*) from events group by op")
	}
	if grew < 2 {
		t.Errorf("a live reader saw new data only %d times", grew)
	}
}

func TestReadingInTheWritingProcess(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{})
	must(t, w.Write(fullBatch(t)))
	must(t, w.Flush(t.Context()))
	r := reader(t, path)
	if n := len(allCalls(t, r)); n != 2 {
		t.Errorf("%d calls after a flush", n)
	}
	must(t, w.Write(fullBatch(t)))
	must(t, w.Flush(t.Context()))
	if n := len(allCalls(t, r)); n != 4 {
		t.Errorf("%d calls after another flush", n)
	}
	// Visitors may use the reader.
	must(t, r.NotableCalls(t.Context(), store.Window{}, func(c *event.Call) bool {
		_, err := r.Summary(t.Context())
		must(t, err)
		return true
	}))
	r.Close()
	must(t, w.Close())
	if names := listing(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

func TestFilesThatAreNoRecording(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.WriteFile(at("empty"), nil, 0o644))
	must(t, os.WriteFile(at("text"), []byte("hello, this is not a database at all"), 0o644))
	must(t, os.WriteFile(at("stub"), []byte("SQLite format 3\x00abc"), 0o644))
	makeDB(t, at("foreign"), "create table t (a)")
	makeDB(t, at("old"), "create table events (id integer primary key, timestamp integer); create table schema_info "+
		"(key text, value text)")
	makeDB(t, at("newer"), "create table call (ts); pragma application_id = 1231972197; pragma user_version = 99")
	must(t, storetest.Build(at("good"), storetest.Load{Calls: 50_000}, sqlite.Options{}))
	good, err := os.ReadFile(at("good"))
	must(t, err)
	must(t, os.WriteFile(at("short"), good[:len(good)*9/10], 0o644))
	broken := append([]byte(nil), good...)
	binary.BigEndian.PutUint64(broken[100:], 0xffffffffffffffff)
	must(t, os.WriteFile(at("corrupt"), broken, 0o644))

	for _, tc := range []struct {
		name string
		is   error
		says []string
	}{
		{"missing", store.ErrNotFound, []string{"ingero trace"}},
		{"", store.ErrForeign, []string{"directory"}},
		{"empty", store.ErrForeign, []string{"empty", "ingero trace"}},
		{"text", store.ErrForeign, []string{"not an SQLite file", "pass"}},
		{"stub", store.ErrCorrupt, []string{"19 bytes"}},
		{"foreign", store.ErrForeign, []string{"another SQLite file"}},
		{"old", store.ErrForeign, []string{"Ingero 0.x", "ingero query"}},
		{"newer", store.ErrNewer, []string{"schema 99", "update"}},
		{"short", store.ErrCorrupt, []string{"cut short", "calls can be read, up to 2025-01-01", ".recover"}},
		{"corrupt", store.ErrCorrupt, []string{".recover"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := at(tc.name)
			if tc.name != "" && tc.name != "missing" {
				unchanged(t, path)
			}
			_, err := sqlite.OpenReader(path)
			checkError(t, err, tc.is, tc.says)
			if errors.Is(tc.is, store.ErrNewer) || tc.name == "old" || tc.name == "foreign" {
				query(t, path, "select count(*) from sqlite_schema")
			}
			if tc.name == "missing" || tc.name == "empty" {
				return // a writer may fill these
			}
			if w, err := sqlite.OpenWriter(path, sqlite.Options{}); err == nil {
				w.Close()
				t.Error("a writer opened it")
			}
		})
	}
	if _, err := os.Stat(at("missing")); err == nil {
		t.Error("reading created a file")
	}
}

func checkError(t *testing.T, err, is error, says []string) {
	t.Helper()
	if !errors.Is(err, is) {
		t.Fatalf("error %v, want %v", err, is)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
}

func makeDB(t *testing.T, path, script string) {
	t.Helper()
	c, err := zsqlite.OpenConn(path, zsqlite.OpenReadWrite|zsqlite.OpenCreate)
	must(t, err)
	must(t, sqlitex.ExecuteScript(c, script, nil))
	must(t, c.Close())
}

// TestLogModeFileWithoutLog is a file in log mode whose log is gone, as it is
// when the last writer closed while a reader looked.
func TestLogModeFileWithoutLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "wal.db")
	c, err := zsqlite.OpenConn(path, zsqlite.OpenReadWrite|zsqlite.OpenCreate|zsqlite.OpenWAL)
	must(t, err)
	must(t, sqlitex.ExecuteScript(c, "create table t (a); insert into t values (42)", nil))
	must(t, c.Close())
	if names := listing(t, filepath.Dir(path)); len(names) != 1 {
		t.Fatalf("there is %v", names)
	}
	unchanged(t, path)
	if rows := query(t, path, "select a from t"); rows[0][0] != int64(42) {
		t.Errorf("%v", rows)
	}
}

func TestFullDiskLeavesAValidFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("needs root to mount a small file system: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, 0) })
	path := filepath.Join(dir, "full.db")
	w := open(t, path, sqlite.Options{RawRate: 1 << 30})
	var full error
	total := 0
	storetest.Load{Calls: 400_000}.Batches(func(b *store.Batch) bool {
		total += len(b.Calls)
		err := errors.Join(w.Write(b), w.Flush(t.Context()))
		if err != nil {
			full = err
		}
		return full == nil
	})
	if !errors.Is(full, store.ErrFull) || !strings.Contains(full.Error(), "--max-db") {
		t.Fatalf("a full disk says: %v", full)
	}
	r := reader(t, path)
	stored := len(allCalls(t, r))
	r.Close()
	if stored == 0 || stored >= total {
		t.Errorf("%d of %d calls on a full disk", stored, total)
	}
	// With room again, the roll-ups are exact and the loss is named.
	must(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=64m"))
	must(t, w.Write(&store.Batch{Tables: store.Tables{Records: event.Records{Calls: []event.Call{{
		Start: t0, Duration: 1, Thread: engine,
		Op: opOf(t, "cudaFree"),
	}}}}}))
	must(t, w.Close())
	r = reader(t, path)
	sum, err := r.Summary(t.Context())
	must(t, err)
	stats, err := store.List[store.OpStat](t.Context(), r, store.Window{})
	must(t, err)
	var counted uint64
	for _, s := range stats {
		counted += s.Calls
	}
	r.Close()
	if counted != uint64(total)+1 || sum.Calls != uint64(total)+1 {
		t.Errorf("%d calls in roll-ups, %d in the session, %d written", counted, sum.Calls, total+1)
	}
	if len(sum.Losses) != 1 || sum.Losses[0].Kind != event.LostStored {
		t.Errorf("losses %+v", sum.Losses)
	}
}
