package seen_test

import (
	"slices"
	"testing"

	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/seen"
)

func at(second int64, keys ...uint64) []row.Row {
	var rows []row.Row
	for _, k := range keys {
		rows = append(rows, row.Row{Timestamp: row.SecondBegins(second) + int64(k), Key: k})
	}
	return rows
}

// add adds rows like a store that already has some, and returns which were new.
func add(s *seen.Set, store map[int64][]uint64, rows []row.Row) []uint64 {
	for _, sec := range s.Missing(nil, rows) {
		for _, k := range store[sec] {
			s.Load(sec, k)
		}
	}
	var fresh []uint64
	for i := range rows {
		if s.Add(&rows[i]) {
			fresh = append(fresh, rows[i].Key)
		}
	}
	return fresh
}

func TestARowIsNewOnce(t *testing.T) {
	s := seen.New(1000)
	if got := add(s, nil, at(7, 1, 2, 1)); !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("new: %v; want 1 2", got)
	}
	if got := add(s, nil, at(7, 2, 3)); !slices.Equal(got, []uint64{3}) {
		t.Errorf("new: %v; want 3", got)
	}
	if got := add(s, nil, at(8, 1)); !slices.Equal(got, []uint64{1}) {
		t.Errorf("the same key of another second is not new: %v", got)
	}
}

func TestWhatIsInTheStoreIsNotNew(t *testing.T) {
	s := seen.New(1000)
	if got := add(s, map[int64][]uint64{7: {1, 2}}, at(7, 1, 3)); !slices.Equal(got, []uint64{3}) {
		t.Errorf("new: %v; want 3", got)
	}
}

func TestASecondIsAskedForOnce(t *testing.T) {
	s := seen.New(1000)
	rows := append(at(7, 1), append(at(9, 1), at(7, 2)...)...)
	if got := s.Missing(nil, rows); !slices.Equal(got, []int64{7, 9}) {
		t.Errorf("missing: %v; want 7 9", got)
	}
	if got := s.Missing(nil, rows); len(got) > 0 {
		t.Errorf("still missing: %v", got)
	}
}

func TestTheSecondUsedLongestAgoIsForgotten(t *testing.T) {
	s := seen.New(110) // three seconds with a key each
	add(s, nil, at(1, 1))
	add(s, nil, at(2, 1))
	add(s, nil, at(3, 1))
	add(s, nil, at(1, 2))
	add(s, nil, at(4, 1))
	s.Trim()
	if s.Len() > 110 {
		t.Errorf("%d keys are kept", s.Len())
	}
	if got := s.Missing(nil, slices.Concat(at(1, 1), at(2, 1), at(3, 1), at(4, 1))); !slices.Equal(got, []int64{2}) {
		t.Errorf("missing: %v; want 2", got)
	}
}

func TestWhatCouldNotBeKeptIsReadAgain(t *testing.T) {
	s := seen.New(1000)
	add(s, nil, at(7, 1))
	add(s, nil, at(8, 1))
	s.Drop(at(7, 1))
	if got := add(s, nil, at(7, 1)); !slices.Equal(got, []uint64{1}) {
		t.Errorf("new: %v; want 1", got)
	}
	if got := add(s, nil, at(8, 1)); len(got) > 0 {
		t.Errorf("of another second, new: %v", got)
	}
	s.DropAll()
	if got := s.Len(); got != 0 {
		t.Errorf("%d keys are left", got)
	}
}
