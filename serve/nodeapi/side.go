package nodeapi

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ingero-io/ingero/explain/compare"
)

// side is a part of the recording as "ingero compare --nodes" reads it.
func side(ctx context.Context, a *API, in *input) (any, error) {
	sources := compare.Sources{Own: a.src, Others: a.opts.Baselines}
	s, err := sources.Side(ctx, in.a)
	switch _, no := errors.AsType[*compare.NoSideError](err); {
	case no:
		return nil, asked{err}
	case err != nil:
		return nil, err
	}
	s.Report.Node = a.node(s.Report.Node)
	b, err := json.Marshal(s.Sent())
	return plain{"application/json", b}, err
}
