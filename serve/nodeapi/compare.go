package nodeapi

import (
	"context"
	"errors"

	"github.com/ingero-io/ingero/explain/compare"
)

// compared compares two parts of the recording, or of those that may be compared with it.
func compared(ctx context.Context, a *API, in *input) (*compare.Result, error) {
	sources := compare.Sources{Own: a.src, Others: a.opts.Baselines}
	var sides [2]*compare.Side
	for i, text := range []string{in.a, in.b} {
		var err error
		if sides[i], err = sources.Side(ctx, text); err != nil {
			if _, ok := errors.AsType[*compare.NoSideError](err); ok {
				return nil, asked{err}
			}
			return nil, err
		}
	}
	return compare.Compare(sides[0], sides[1]), nil
}
