package clickhouse

import "context"

// OpenVersion opens a database as the program of an older version would have made it: without views.
func OpenVersion(ctx context.Context, address string, version uint32) (*Store, error) {
	all, err := migrations()
	if err != nil {
		return nil, err
	}
	return Open(ctx, address, Options{migrations: all[:version]})
}
