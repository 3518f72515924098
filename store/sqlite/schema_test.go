package sqlite

import (
	"path/filepath"
	"reflect"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/event"
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
	err = sqlitex.ExecuteScript(c, `insert into stack values (1, 77, 9);
		insert into frame values (1, 1, 4096, 'main', '', 0, 'prog', 16);
		insert into stack_entry values (1, 0, 1);`, nil)
	if err != nil {
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
	if m, err := store.List[event.Memory](t.Context(), r, store.Window{}); len(m) != 0 || err != nil {
		t.Errorf("memory of an old recording: %v, %v", m, err)
	}
	if m, err := store.List[event.MemorySite](t.Context(), r, store.Window{}); len(m) != 0 || err != nil {
		t.Errorf("memory sites of an old recording: %v, %v", m, err)
	}
	if m, err := store.List[event.InFlight](t.Context(), r, store.Window{}); len(m) != 0 || err != nil {
		t.Errorf("calls in flight of an old recording: %v, %v", m, err)
	}
	want := event.Stack{
		ID: 77, PID: 9,
		Frames: []event.Frame{{Kind: event.FrameNative, Addr: 4096, Symbol: "main", Module: "prog", Offset: 16}},
	}
	if got, err := r.Stack(t.Context(), 77); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("stack of an old recording: %+v, %v, want %+v", got, err, want)
	}
}
