package accuracy

import (
	"context"

	"github.com/ingero-io/ingero/bench/numbers"
	"github.com/ingero-io/ingero/internal/rig"
)

// Numbers compares the numbers in the answers and the report about a case's recording with the
// program's own.
type Numbers struct {
	Compared int             `json:"compared"`
	Wrong    []numbers.Check `json:"wrong"`
	NoRule   []string        `json:"no_rule,omitempty"` // fields that are neither compared nor listed with a reason

	result *numbers.Result
}

// compareNumbers does so for the stand-in program: real ones do not time their calls.
func (r *Result) compareNumbers(ctx context.Context, db string, run *rig.Result) error {
	if len(run.Truth.Made) == 0 {
		return nil
	}
	res, err := numbers.Compare(ctx, db, &run.Truth, run.Report, run.Stolen())
	if err != nil {
		return err
	}
	r.Numbers = &Numbers{Compared: len(res.Checks), Wrong: res.Wrong(), NoRule: res.NoRule, result: res}
	return nil
}

// countNumbers adds up the comparisons by field.
func (r *Report) countNumbers(all []*Result) {
	var list []*numbers.Result
	for _, x := range all {
		if x.Numbers != nil {
			list = append(list, x.Numbers.result)
		}
	}
	r.Numbers = numbers.Fields(list)
	r.Recordings = len(list)
}
