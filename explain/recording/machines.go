package recording

import (
	"context"

	"github.com/ingero-io/ingero/store"
)

// Machines returns the recordings of the machines in a recording, in the order in which they were merged; the
// recording itself if there is only one. done closes those that were opened; it is never nil.
func Machines(ctx context.Context, r store.Reader) (list []store.Reader, done func(), err error) {
	done = func() {}
	m, ok := r.(store.Merged)
	if !ok {
		return []store.Reader{r}, done, nil
	}
	if list, err = m.Machines(ctx); err != nil || len(list) < 2 {
		return list, done, err
	}
	return list, func() {
		for _, one := range list {
			_ = one.Close() // a reader has nothing to lose
		}
	}, nil
}
