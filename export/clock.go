package export

import (
	"context"
	"math"
)

// shifted draws a machine with another one's clock: times move back by the offset of its clock. Ids
// of events stay unchanged.
type shifted struct {
	canvas
	ahead int64 // ns
}

func (s *shifted) moved(at uint64) uint64 { return uint64(max(int64(at)-s.ahead, 0)) }

func (s *shifted) slice(x *slice) {
	y := *x
	y.start = s.moved(x.start)
	if y.from.flow != 0 {
		y.from.at = s.moved(x.from.at)
	}
	s.canvas.slice(&y)
}

func (s *shifted) mark(x *mark) {
	y := *x
	y.at = s.moved(x.at)
	s.canvas.mark(&y)
}

func (s *shifted) count(x *count) {
	y := *x
	y.at = s.moved(x.at)
	s.canvas.count(&y)
}

func (s *shifted) band(x *band) {
	y := *x
	y.start = s.moved(x.start)
	s.canvas.band(&y)
}

// began is the time of a recording's first event, by the first machine's clock.
func began(ctx context.Context, src Source) (uint64, error) {
	machines, err := machinesOf(ctx, src)
	if err != nil {
		return 0, err
	}
	defer machines.close()
	at := uint64(math.MaxInt64)
	for _, m := range machines {
		if m.first != 0 {
			at = min(at, (&shifted{ahead: m.ahead}).moved(m.first))
		}
	}
	if at == math.MaxInt64 {
		return 0, nil // nothing was recorded
	}
	return at, nil
}
