package seen

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ingero-io/ingero/echo/row"
)

// Source are the rows of a store. A condition is one in the SQL of its engine.
type Source interface {
	// SecondOf is the engine's expression for the second of timestamp_ns.
	SecondOf() string
	// Count counts the rows that a condition selects, by second.
	Count(ctx context.Context, condition string, each func(second, rows int64)) error
	// Keys reads the times and keys of the rows that a condition selects.
	Keys(ctx context.Context, condition string, each func(timestamp int64, key uint64)) error
}

// atOnce is how many rows, in some 40 bytes each, or seconds a condition names: ClickHouse reads statements of 256 KiB.
const atOnce = 5000

// Read prepares for rows: afterwards Add may be called with each of them, until Trim. newest is the time of the
// store's newest row.
//
// Seconds that are not in memory are read, as long as half of the keys that New allows suffices. Of the others, those
// with most rows, only the rows' own keys are read, and forgotten by Trim: some late rows of a large cluster may be of
// minutes that have a hundred million.
func (s *Set) Read(ctx context.Context, rows []row.Row, newest int64, from Source) error {
	s.forgetParts()
	missing := s.Missing(nil, rows)
	err := s.readStored(ctx, missing, rows, newest, from)
	if err != nil {
		for _, at := range missing {
			s.drop(at)
		}
	}
	return err
}

func (s *Set) readStored(ctx context.Context, missing []int64, rows []row.Row, newest int64, from Source) error {
	stored := map[int64]int64{}
	for _, condition := range During(missing, newest, from.SecondOf()) {
		err := from.Count(ctx, condition, func(second, rows int64) { stored[second] += rows })
		if err != nil {
			return err
		}
	}
	if len(stored) == 0 {
		return nil
	}
	whole := s.choose(missing, stored)
	load := func(timestamp int64, key uint64) { s.addKey(row.SecondOf(timestamp), key) }
	conditions := append(During(whole, newest, from.SecondOf()), s.ownKeys(rows)...)
	for _, condition := range conditions {
		if err := from.Keys(ctx, condition, load); err != nil {
			return err
		}
	}
	return nil
}

// choose returns the seconds to read as a whole, those with fewest rows. It marks those of which a part is read.
func (s *Set) choose(missing []int64, stored map[int64]int64) (whole []int64) {
	missing = slices.Clone(missing)
	slices.SortFunc(missing, func(a, b int64) int { return cmp.Or(cmp.Compare(stored[a], stored[b]), cmp.Compare(a, b)) })
	sum := int64(0)
	for _, at := range missing {
		n := stored[at]
		if n == 0 {
			continue // all its keys are known: none
		}
		if sum += n; sum <= int64(s.most)/2 {
			whole = append(whole, at)
			continue
		}
		s.seconds[at].part = true
		s.parts = append(s.parts, at)
	}
	return whole
}

// ownKeys returns conditions for the rows whose second is read in part.
func (s *Set) ownKeys(rows []row.Row) (conditions []string) {
	if len(s.parts) == 0 {
		return nil
	}
	var list []*row.Row
	for i := range rows {
		if sec := s.seconds[rows[i].Second()]; sec != nil && sec.part {
			list = append(list, &rows[i])
		}
	}
	slices.SortFunc(list, func(a, b *row.Row) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	for some := range slices.Chunk(list, atOnce) {
		times, keys := make([]string, 0, len(some)), make([]string, len(some))
		for i, r := range some {
			keys[i] = strconv.FormatUint(r.Key, 10)
			if i == 0 || r.Timestamp != some[i-1].Timestamp {
				times = append(times, strconv.FormatInt(r.Timestamp, 10))
			}
		}
		conditions = append(conditions, fmt.Sprintf("timestamp_ns between %d and %d and timestamp_ns in (%s) and key in (%s)",
			some[0].Timestamp, some[len(some)-1].Timestamp, strings.Join(times, ","), strings.Join(keys, ",")))
	}
	return conditions
}

// forgetParts forgets the seconds of which a part was read.
func (s *Set) forgetParts() {
	for _, at := range s.parts {
		s.drop(at)
	}
	s.parts = s.parts[:0]
}
