package health_test

import (
	"math"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
)

func TestStatusSaysWhatAFleetKnows(t *testing.T) {
	f := health.NewFleet()
	now := 100 * time.Second
	for rank := range int32(5) {
		r := health.RankPush{Rank: rank, Newest: 9, Interval: 0.25, Sigma: 0.01, State: health.Active, Mode: health.ModeFleet}
		for i := range r.X {
			r.X[i] = float32(math.Log(0.1))
		}
		if rank == 4 {
			r.X[0] = float32(math.Log(0.15))
			r.State = health.Suspect
		}
		p := health.Push{
			Cohort: 3, Node: uint64(rank) + 1, Sent: now, Size: 5, Width: 1, Merge: 1, Ranks: []health.RankPush{r},
		}
		if f.Push(now+time.Duration(rank)*time.Millisecond, &p) == nil {
			t.Fatal("a push is refused")
		}
	}
	list, whole := f.Status(now+time.Second, 0)
	if !whole || len(list) != 1 || list[0].Cohort != 3 || list[0].Size != 5 || list[0].Live != 5 ||
		len(list[0].Ranks) != 5 {
		t.Fatalf("%+v", list)
	}
	for i, r := range list[0].Ranks {
		own, state := 0.1, health.Active
		if i == 4 {
			own, state = 0.15, health.Suspect
		}
		if r.Rank != int32(i) || r.Node != uint64(i)+1 || r.State != state || math.Abs(r.Own-own) > 1e-6 ||
			math.Abs(r.Peer-0.1) > 1e-6 || r.Seen != now+time.Duration(i)*time.Millisecond {
			t.Errorf("rank %d: %+v", i, r)
		}
	}
	if list, whole := f.Status(now, 4); whole || len(list) != 0 {
		t.Errorf("no more than four ranks: %v, %+v", whole, list)
	}
}
