package rig

import (
	"context"
	"fmt"

	"github.com/ingero-io/ingero/explain/compare"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store/sqlite"
)

// Side reads a whole recording as a side of a comparison, as "ingero compare" does.
func Side(ctx context.Context, db string) (*compare.Side, error) {
	r, err := sqlite.Open(db)
	if err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	defer func() { _ = r.Close() }() // a reader has written nothing
	s, err := compare.Read(ctx, r, recording.Selection{Rank: -1})
	if err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	s.Name, s.Report.DB = db, db
	return s, nil
}
