package sqlite

import (
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/ingero-io/ingero/store"
)

// notKinds are the lists of a batch that no kind writes, and what becomes of them.
var notKinds = map[string]string{
	"Calls":     "come at high rates: calls.go",
	"Ended":     "are for those who count while the tracer runs",
	"Reused":    "ends threads: count",
	"Stacks":    "are a dictionary: describe",
	"Processes": "are a dictionary: describe",
	"Threads":   "are a dictionary: describe",
	"Losses":    "are added up: lose",
	"Footprint": "has tables of its own: footprint.go",
}

// eachList calls f with a batch for each list of a batch, in which that one has an element.
func eachList(f func(name string, b *store.Batch)) {
	var walk func(t reflect.Type, path []int)
	walk = func(t reflect.Type, path []int) {
		for i := range t.NumField() {
			field, at := t.Field(i), append(slices.Clip(path), i)
			var b store.Batch
			switch v := reflect.ValueOf(&b).Elem().FieldByIndex(at); v.Kind() {
			case reflect.Struct:
				walk(field.Type, at)
				continue
			case reflect.Slice:
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			case reflect.Pointer:
				v.Set(reflect.New(v.Type().Elem()))
			}
			f(field.Name, &b)
		}
	}
	walk(reflect.TypeFor[store.Batch](), nil)
}

func TestEachListOfABatchIsOfOneKind(t *testing.T) {
	t.Parallel()
	lists := map[string]bool{}
	eachList(func(name string, b *store.Batch) {
		lists[name] = true
		if b.Empty() {
			t.Errorf("a batch with %s is empty", name)
		}
		n := 0
		for _, k := range kinds {
			n += k.count(b)
		}
		switch why := notKinds[name]; {
		case why != "" && n > 0:
			t.Errorf("%s %s; but a kind writes them", name, why)
		case why == "" && n != 1:
			t.Errorf("%s: %d kinds write them, want one: add a line to kinds, or say in notKinds what becomes of them", name, n)
		}
		if b.Reset(); !b.Empty() {
			t.Errorf("Reset leaves %s", name)
		}
	})
	for name := range notKinds {
		if !lists[name] {
			t.Errorf("notKinds: a batch has no %s", name)
		}
	}
}

func TestTablesOfKindsExist(t *testing.T) {
	t.Parallel()
	w, err := OpenWriter(filepath.Join(t.TempDir(), "x.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	columns, err := columnsOf(w.conn, "select name from sqlite_schema where type = 'table'")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	kindTables(func(k *table) {
		if seen[k.name] {
			t.Errorf("table %s is of two kinds", k.name)
		}
		seen[k.name] = true
		if columns[k.name] == nil {
			t.Errorf("no migration makes the table %s", k.name)
		}
	})
}
