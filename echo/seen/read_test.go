package seen_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/seen"
)

// source is a store in memory that understands the conditions of package seen.
type source struct {
	rows  []row.Row
	read  int // keys
	fault error
}

func (*source) SecondOf() string { return "second(timestamp_ns)" }

func (s *source) Count(_ context.Context, condition string, each func(second, rows int64)) error {
	for _, r := range s.selected(condition) {
		each(r.Second(), 1)
	}
	return nil
}

func (s *source) Keys(_ context.Context, condition string, each func(timestamp int64, key uint64)) error {
	for _, r := range s.selected(condition) {
		s.read++
		each(r.Timestamp, r.Key)
	}
	return s.fault
}

func (s *source) selected(condition string) (list []row.Row) {
	for _, r := range s.rows {
		is := true
		for part := range strings.SplitSeq(strings.ReplaceAll(condition, " and ", "\n"), "\n") {
			var from int64
			switch {
			case strings.HasPrefix(part, "timestamp_ns between "):
				_, err := fmt.Sscanf(part, "timestamp_ns between %d", &from)
				is = is && err == nil && r.Timestamp >= from
			case strings.HasPrefix(part, "timestamp_ns in ("):
				is = is && named(part, r.Timestamp)
			case strings.HasPrefix(part, "key in ("):
				is = is && named(part, r.Key)
			case strings.HasPrefix(part, "second(timestamp_ns) in ("):
				is = is && named(part, r.Second())
			default:
				var to int64
				_, err := fmt.Sscanf(part, "%d", &to)
				is = is && err == nil && r.Timestamp <= to
			}
		}
		if is {
			list = append(list, r)
		}
	}
	return list
}

func named(part string, n any) bool {
	_, list, _ := strings.Cut(strings.TrimSuffix(part, ")"), " in (")
	return slices.Contains(strings.Split(list, ","), fmt.Sprint(n))
}

// write adds rows to a set and a store, and returns how many were new.
func write(t *testing.T, s *seen.Set, to *source, rows []row.Row) (fresh int) {
	t.Helper()
	newest := int64(0)
	for _, r := range to.rows {
		newest = max(newest, r.Timestamp)
	}
	if err := s.Read(t.Context(), rows, newest, to); err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if s.Add(&rows[i]) {
			fresh++
			to.rows = append(to.rows, rows[i])
		}
	}
	s.Trim()
	return fresh
}

// Rows that come late, in a second with many rows, are checked for duplicates without reading all keys of that second.
func TestLateRowsOfLargeSeconds(t *testing.T) {
	many := make([]uint64, 6000)
	for i := range many {
		many[i] = uint64(i)
	}
	store := &source{}
	if n := write(t, seen.New(1_000_000), store, append(at(7, many...), at(8, 1, 2, 3)...)); n != 6003 {
		t.Fatalf("%d rows are new", n)
	}
	late := func() []row.Row { return append(append(at(7, 5, 6, 10_000), at(8, 3, 4)...), at(9, 1)...) }
	s := seen.New(100)
	for i, want := range []int{3, 0, 0} { // forgotten in between, and right each time
		if n := write(t, s, store, late()); n != want {
			t.Errorf("%d: %d rows are new; want %d", i, n, want)
		}
		if s.Len() > 100 {
			t.Errorf("%d keys are kept", s.Len())
		}
	}
	if store.read > 40 {
		t.Errorf("%d keys were read", store.read)
	}
	if n := write(t, s, store, at(7, many...)); n != 0 { // more than a condition names
		t.Errorf("%d rows of all are new", n)
	}
	before := store.read
	if n := write(t, seen.New(1_000_000), store, late()); n != 0 || store.read-before < 6000 {
		t.Errorf("%d rows are new, and %d keys were read; there is room for all", n, store.read-before)
	}
}

// What could not be read is read again.
func TestAReadThatFails(t *testing.T) {
	store := &source{rows: at(7, 1, 2, 3), fault: errors.New("no")}
	for _, keys := range []int{4, 1_000_000} {
		s := seen.New(keys)
		if err := s.Read(t.Context(), at(7, 2), row.SecondBegins(8), store); !errors.Is(err, store.fault) {
			t.Errorf("%v", err)
		}
		if got := s.Missing(nil, at(7, 2)); !slices.Equal(got, []int64{7}) || s.Len() > 64 {
			t.Errorf("missing: %v, %d keys", got, s.Len())
		}
	}
}
