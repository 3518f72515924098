package health

// Reason is why something that was pushed is not used.
type Reason uint8

// The reasons.
const (
	// RefusedPush: no cohort or node, no ranks or too many, or invalid widths.
	RefusedPush Reason = iota
	// RefusedCohorts: the fleet has as many cohorts or ranks as it can keep.
	RefusedCohorts
	// RefusedFull: the cohort has as many ranks as its members report.
	RefusedFull
	// RefusedRank: a negative rank, or one that another node pushes.
	RefusedRank
	// RefusedReplay: not newer than what the rank pushed before.
	RefusedReplay
	// RefusedValue: not a number, infinite or out of range.
	RefusedValue
	// RefusedPosition: a bucket far from those of most members.
	RefusedPosition
	// RefusedWidth: buckets of another width than the cohort's. Normal just after a change.
	RefusedWidth
	// Reasons is the number of reasons.
	Reasons
)

var reasonNames = [...]string{
	"push", "cohorts", "full", "rank", "replay", "value", "position", "width",
}

func (r Reason) String() string { return name(reasonNames[:], int(r)) }
