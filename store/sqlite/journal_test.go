package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	zombie "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// interrupted makes a recording whose writer was killed in the middle of a transaction: some of it is in the file, and
// what was there before is in the journal.
func interrupted(t *testing.T) string {
	t.Helper()
	path := fullRecording(t)
	c, err := zombie.OpenConn(path, zombie.OpenReadWrite)
	must(t, err)
	defer c.Close()
	for _, sql := range []string{
		"pragma journal_mode = delete", "pragma cache_size = 1", "begin immediate", "update call set dur = 0",
		"with recursive r(n) as (select 1 union all select n + 1 from r where n < 3000) " +
			"insert into thread (id, session, pid, tid, comm, dispatch) " +
			"select n + 1000, 1, 1, n, hex(zeroblob(100)), 0 from r",
	} {
		must(t, sqlitex.ExecuteTransient(c, sql, nil))
	}
	dir := t.TempDir()
	for _, suffix := range []string{"", "-journal"} {
		b, err := os.ReadFile(path + suffix)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, "killed.db"+suffix), b, 0o600))
	}
	must(t, sqlitex.ExecuteTransient(c, "rollback", nil))
	return filepath.Join(dir, "killed.db")
}

// TestAKilledTransactionIsNotRead: its journal has to be played back, which a reader cannot do in place. It reads what
// was there before the transaction, and changes nothing.
func TestAKilledTransactionIsNotRead(t *testing.T) {
	path := interrupted(t)
	unchanged(t, path)
	if n := query(t, path, "select count(*) from threads where tid > 1000 or comm like '000000%'"); n[0][0] != int64(0) {
		t.Errorf("%v threads of the transaction that was not committed", n[0][0])
	}
	r, err := sqlite.Open(path)
	must(t, err)
	defer r.Close()
	sum, err := r.Summary(t.Context())
	must(t, err)
	if sum.Calls != 2 {
		t.Errorf("%d calls", sum.Calls)
	}
	stats, err := store.List[store.OpStat](t.Context(), r, store.Window{})
	must(t, err)
	if len(stats) == 0 {
		t.Error("no statistics")
	}
}

// journalMagic ends a journal that names another one (sqlite.org/fileformat2.html#the_rollback_journal).
const journalMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"

// TestAJournalDeletesNoOtherFile: one that belongs to a transaction over several files names another journal, which
// SQLite deletes when it has played this one back. A stranger's may name any file.
func TestAJournalDeletesNoOtherFile(t *testing.T) {
	path := interrupted(t)
	victim := filepath.Join(t.TempDir(), "precious")
	must(t, os.WriteFile(victim, []byte("x"), 0o600))
	f, err := os.OpenFile(path+"-journal", os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	sum := uint32(0)
	for _, c := range []byte(victim) {
		sum += uint32(c)
	}
	end := append([]byte{0, 0x10, 0, 1}, victim...) // the page of the lock, of 1 KiB pages: any number will do
	for _, v := range []uint32{uint32(len(victim)), sum} {
		end = append(end, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
	_, err = f.Write(append(end, journalMagic...))
	must(t, errors.Join(err, f.Close()))
	if r, err := sqlite.Open(path); err == nil {
		must(t, r.Close())
	}
	if w, err := sqlite.OpenWriter(path, sqlite.Options{}); err == nil {
		must(t, w.Close())
	}
	if _, err := os.Stat(victim); err != nil {
		t.Errorf("a file that the journal names: %v", err)
	}
}
