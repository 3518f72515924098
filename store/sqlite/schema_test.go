package sqlite

import (
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

// What a recording of the first schema does not have reads as nothing.
func TestRecordingsOfAnOlderSchemaAreRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.db")
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	if err := migrate(c, migrations()[:1]); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if m, err := r.Memory(t.Context(), store.Window{}); len(m) != 0 || err != nil {
		t.Errorf("memory of an old recording: %v, %v", m, err)
	}
	if m, err := r.MemorySites(t.Context(), store.Window{}); len(m) != 0 || err != nil {
		t.Errorf("memory sites of an old recording: %v, %v", m, err)
	}
}
