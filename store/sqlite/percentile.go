package sqlite

import (
	"errors"
	"math"
	"slices"

	"zombiezen.com/go/sqlite"
)

// registerFunctions adds percentile(x, p) with p from 0 to 100, and median(x),
// which SQLite as built here lacks.
func registerFunctions(c *sqlite.Conn) error {
	for _, f := range []struct {
		name string
		args int
	}{{"percentile", 2}, {"median", 1}} {
		err := c.CreateFunction(f.name, &sqlite.FunctionImpl{
			NArgs: f.args, Deterministic: true,
			MakeAggregate: func(sqlite.Context) (sqlite.AggregateFunction, error) { return &percentile{p: 50}, nil },
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// percentile is the nearest-rank percentile of the non-null numbers it is given.
type percentile struct {
	p      float64
	values []float64
}

// maxPercentile bounds the memory of one percentile to 64 MiB.
const maxPercentile = 8 << 20

func (p *percentile) Step(_ sqlite.Context, args []sqlite.Value) error {
	if len(args) == 2 {
		p.p = args[1].Float()
		if !(p.p >= 0 && p.p <= 100) {
			return errors.New("percentile: the second argument is from 0 to 100")
		}
	}
	if args[0].Type() == sqlite.TypeNull {
		return nil
	}
	if len(p.values) >= maxPercentile {
		return errors.New("percentile: too many rows; narrow the query with a condition on timestamp")
	}
	p.values = append(p.values, args[0].Float())
	return nil
}

func (p *percentile) WindowInverse(sqlite.Context, []sqlite.Value) error {
	return errors.New("percentile: not usable as a window function")
}

func (p *percentile) WindowValue(sqlite.Context) (sqlite.Value, error) {
	if len(p.values) == 0 {
		return sqlite.Value{}, nil
	}
	slices.Sort(p.values)
	rank := int(math.Ceil(p.p / 100 * float64(len(p.values))))
	v := p.values[min(max(rank, 1), len(p.values))-1]
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return sqlite.IntegerValue(int64(v)), nil
	}
	return sqlite.FloatValue(v), nil
}

func (p *percentile) Finalize(sqlite.Context) {}
