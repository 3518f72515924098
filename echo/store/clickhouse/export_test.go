package clickhouse

import "context"

// OpenVersion opens a database as a program of an older version would have made it: without views.
func OpenVersion(ctx context.Context, address string, version uint32) (*Store, error) {
	all, err := migrations()
	if err != nil {
		return nil, err
	}
	return Open(ctx, address, Options{migrations: all[:version]})
}

// OpenFront opens a database whose views read the given tables instead of its own.
func OpenFront(ctx context.Context, address, source, minutes string) (*Store, error) {
	return Open(ctx, address, Options{layout: &layout{Source: source, Minutes: minutes}})
}

// Exec runs a test's statement.
func (s *Store) Exec(ctx context.Context, statement string) error { return s.exec(ctx, statement) }

// Statements returns the statements that make the tables and views of a database on a cluster, or on one server.
func Statements(cluster, database string) (list []string, err error) {
	all, err := migrations()
	if err != nil {
		return nil, err
	}
	for _, m := range append(all, migration{file: "views.sql"}) {
		some, err := newLayout(cluster, database).statements(m.file)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	return list, nil
}
