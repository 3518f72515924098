package health

// Reason is why something that was pushed is not used.
type Reason uint8

// The reasons.
const (
	// RefusedPush: no cohort or node, no ranks, too many, or widths that do not exist.
	RefusedPush Reason = iota
	// RefusedCohorts: there are as many cohorts or ranks as the fleet keeps.
	RefusedCohorts
	// RefusedFull: a rank more than the cohort has by what its members say.
	RefusedFull
	// RefusedRank: a negative rank, or one that another node pushes.
	RefusedRank
	// RefusedReplay: not newer than what the rank pushed before.
	RefusedReplay
	// RefusedValue: not a number, infinite or not a time of this world.
	RefusedValue
	// RefusedPosition: a bucket far from those of most members.
	RefusedPosition
	// RefusedWidth: buckets of another width than the cohort's. Normal just after a change.
	RefusedWidth
	// Reasons is how many there are.
	Reasons
)

var reasonNames = [...]string{
	"push", "cohorts", "full", "rank", "replay", "value", "position", "width",
}

func (r Reason) String() string { return name(reasonNames[:], int(r)) }
