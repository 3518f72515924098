package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

func TestMigrationsRunOnceAndInOrder(t *testing.T) {
	t.Parallel()
	c, err := sqlite.OpenConn(filepath.Join(t.TempDir(), "m.db"), sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	scripts := []string{"create table a (x); insert into a values (1);", "alter table a add column y; update a set y = 2;"}
	for _, n := range []int{1, 1, 2, 2} {
		if err := migrate(c, scripts[:n]); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := queryInt(c, "select x * 10 + y from a"); n != 12 || err != nil {
		t.Errorf("after migrations: %d, %v", n, err)
	}
	if err := migrate(c, scripts[:1]); !errors.Is(err, store.ErrNewer) {
		t.Errorf("an older program: %v", err)
	}
	// A script that fails leaves the schema it found.
	if err := migrate(c, append(scripts, "create table b (z); nonsense;")); err == nil {
		t.Error("nonsense was accepted")
	}
	if v, err := pragmaInt(c, "user_version"); v != 2 || err != nil {
		t.Errorf("schema %d, %v", v, err)
	}
	if n, err := queryInt(c, "select count(*) from sqlite_schema where name = 'b'"); n != 0 || err != nil {
		t.Errorf("half a migration is left: %d, %v", n, err)
	}
}
