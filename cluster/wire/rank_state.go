package wire

// RankState is what a rank is at a moment.
type RankState struct {
	Node, Cluster, Cohort string
	PID                   uint32
	Rank, WorldSize       int32
	State                 string // health.State
	// OwnMS and PeerMS are milliseconds of own work a step, of the rank and of the median of the others; 0: not
	// known. G is the evidence that it is slow.
	OwnMS, PeerMS, G float64
}
