package health

import (
	"math/rand"
	"testing"
)

// An index agrees with a map, whatever ranks come and go, and is never much longer than the members.
func TestAnIndexIsAMap(t *testing.T) {
	for name, rank := range map[string]func(r *rand.Rand) int32{
		"usual":  func(r *rand.Rand) int32 { return int32(r.Intn(512)) },
		"few":    func(r *rand.Rand) int32 { return int32(r.Intn(9)) },
		"forged": func(r *rand.Rand) int32 { return int32(r.Uint32() >> 1) },
		"mixed":  func(r *rand.Rand) int32 { return int32(r.Uint32() >> (1 + r.Intn(28))) },
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewSource(1))
			var x index
			var members []member
			want := map[int32]int32{}
			for range 20_000 {
				k := rank(random)
				at, known := want[k]
				switch {
				case !known && len(members) < 600:
					at = int32(len(members))
					members = append(members, member{rank: k})
					want[k] = at
					x.put(k, at, members)
				case known && random.Intn(3) == 0: // as Cohort.remove does
					last := members[len(members)-1]
					members[at] = last
					members = members[:len(members)-1]
					want[last.rank] = at
					delete(want, k)
					x.put(last.rank, at, members)
					x.drop(k)
				}
				for _, k := range []int32{k, rank(random), -1} {
					got, ok := x.get(k)
					if w, is := want[k]; ok != is || ok && got != w {
						t.Fatalf("rank %d: %d %v, want %d %v", k, got, ok, w, is)
					}
				}
				if len(x.list) > 600+300+indexSpare {
					t.Fatalf("the list has %d entries for %d members", len(x.list), len(members))
				}
			}
		})
	}
}
