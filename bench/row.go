package bench

import "math"

// Row is one figure. Error, in the same unit, is how far Measured would move if any one round were
// left out; for bystanders, which have many rounds, it is two standard errors of the median.
type Row struct {
	Measurement string             `json:"measurement"`
	Name        string             `json:"name"`
	Measured    float64            `json:"measured"`
	Error       float64            `json:"error,omitempty"`
	Unit        Unit               `json:"unit"`
	Target      *Target            `json:"target,omitempty"` // nil: reported only
	OK          *bool              `json:"ok,omitempty"`     // whether the target is met
	Detail      map[string]float64 `json:"detail,omitempty"` // what the figure was computed from
}

// Unit is the unit of a figure.
type Unit string

// The units.
const (
	Ratio       Unit = "x"
	Nanoseconds Unit = "ns"
	Seconds     Unit = "s"
	Percent     Unit = "%"
	Bytes       Unit = "B"
	Megabytes   Unit = "MB"
	PerSecond   Unit = "/s"
	Calls       Unit = "calls"
)

// Target is the bound of a figure.
type Target struct {
	AtMost  *float64 `json:"at_most,omitempty"`
	AtLeast *float64 `json:"at_least,omitempty"`
	// WithinError accepts a figure whose error reaches the bound: for effects that should be zero
	// and cannot be measured more exactly.
	WithinError bool `json:"within_error,omitempty"`
}

func atMost(v float64) *Target  { return &Target{AtMost: &v} }
func atLeast(v float64) *Target { return &Target{AtLeast: &v} }

// judge sets OK by the target.
func (r Row) judge() Row {
	if r.Target == nil {
		return r
	}
	slack := 0.0
	if r.Target.WithinError {
		slack = r.Error
	}
	ok := !math.IsNaN(r.Measured)
	if b := r.Target.AtMost; b != nil && r.Measured-slack > *b {
		ok = false
	}
	if b := r.Target.AtLeast; b != nil && r.Measured+slack < *b {
		ok = false
	}
	r.OK = &ok
	return r
}
