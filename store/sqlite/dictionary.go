package sqlite

import (
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// dictionary gives values small ids. New values stay listed as fresh until the
// transaction that wrote them is committed, so that a rolled-back one loses no
// row that later rows refer to.
type dictionary[K comparable] struct {
	ids   map[K]int64
	older map[K]int64 // those that were not used since shed was called
	last  int64       // highest id in use
	fresh []entry[K]
}

type entry[K comparable] struct {
	id  int64
	key K
}

func newDictionary[K comparable](last int64) dictionary[K] {
	return dictionary[K]{ids: make(map[K]int64), last: last}
}

func (d *dictionary[K]) id(k K) int64 {
	if id, ok := d.ids[k]; ok {
		return id
	}
	if id, ok := d.older[k]; ok {
		d.ids[k] = id
		return id
	}
	d.last++
	d.ids[k] = d.last
	d.fresh = append(d.fresh, entry[K]{d.last, k})
	return d.last
}

// forget drops the values but keeps counting ids.
func (d *dictionary[K]) forget() { clear(d.ids) }

// shed drops the values that were not used for longest, once there are more than n: all but those that were used since
// it did so last, and as many before. None may be fresh.
func (d *dictionary[K]) shed(n int) {
	if len(d.ids) > n {
		d.older, d.ids = d.ids, make(map[K]int64)
	}
}

// loadIDs fills a dictionary from an existing file.
func loadIDs[K comparable](c *sqlite.Conn, d *dictionary[K], query string, key func(*sqlite.Stmt) K) error {
	return sqlitex.ExecuteTransient(c, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		d.ids[key(s)] = s.ColumnInt64(0)
		d.last = max(d.last, s.ColumnInt64(0))
		return nil
	}})
}
