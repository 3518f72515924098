package rig

import (
	"context"
	"fmt"

	"github.com/ingero-io/ingero/explain/compare"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// Side reads a whole recording as a side of a comparison, without its warm-up, as "ingero compare"
// does.
func Side(ctx context.Context, db string) (*compare.Side, error) {
	r, err := sqlite.OpenReader(db)
	if err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	defer r.Close() // a reader has written nothing
	s, err := study(ctx, r, store.Window{})
	if err != nil {
		return nil, err
	}
	if from, left := s.AfterWarmup(); left > 0 {
		if s, err = study(ctx, r, store.Window{From: from}); err != nil {
			return nil, err
		}
	}
	s.Name, s.Report.DB = db, db
	return s, nil
}

func study(ctx context.Context, r store.Reader, w store.Window) (*compare.Side, error) {
	machines, err := diagnose.LoadMachines(ctx, r, w)
	if err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	s := &compare.Side{}
	s.Report, s.Profiles = diagnose.Study(machines)
	return s, nil
}
