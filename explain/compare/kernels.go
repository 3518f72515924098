package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/difference"
)

// Kernel is a GPU kernel that is launched more or less often per unit. How long it runs on the GPU is not recorded.
type Kernel struct {
	Name     string  `json:"name"`
	State    string  `json:"state"` // new, gone, more, fewer
	A        float64 `json:"a"`     // launches per unit
	B        float64 `json:"b"`
	Estimate bool    `json:"estimate,omitempty"` // from stored launches: not all were stored one by one
}

// The kernels to list: at most so many, and none whose number of launches per unit differs by less than this share,
// or by less than this number. An estimate must also differ by so many standard errors: a kernel seen n times in a
// sample has an error of 1/sqrt(n).
const (
	maxKernels  = 8
	leastShare  = 0.02
	leastNumber = 0.02
	leastSigmas = 4
)

// kernels returns the named kernels whose number of launches per unit differs, the largest difference first, and how
// many are not listed.
func kernels(a, b *diagnose.Profile, na, nb float64) (list []Kernel, more int) {
	list = []Kernel{}
	names := map[string]bool{}
	for n := range a.Kernels {
		names[n] = true
	}
	for n := range b.Kernels {
		names[n] = true
	}
	for n := range names {
		ka, kb := a.Kernels[n], b.Kernels[n]
		k := Kernel{
			Name: n, A: float64(ka.Calls) / math.Max(na, 1), B: float64(kb.Calls) / math.Max(nb, 1),
			Estimate: ka.Calls > ka.Stored || kb.Calls > kb.Stored,
		}
		most := math.Max(k.A, k.B)
		least := math.Max(leastNumber, leastShare*most)
		if k.Estimate {
			seen := ka.Stored // on the side where it was seen less often
			if seen == 0 || kb.Stored > 0 && kb.Stored < seen {
				seen = kb.Stored
			}
			least = math.Max(least, leastSigmas*math.Sqrt(2/float64(seen))*most)
		}
		if math.Abs(k.B-k.A) < least {
			continue
		}
		switch {
		case ka.Calls == 0:
			k.State = "new"
		case kb.Calls == 0:
			k.State = "gone"
		case k.B > k.A:
			k.State = "more"
		default:
			k.State = "fewer"
		}
		list = append(list, k)
	}
	slices.SortFunc(list, func(x, y Kernel) int {
		return cmp.Or(-cmp.Compare(math.Abs(x.B-x.A), math.Abs(y.B-y.A)), cmp.Compare(x.Name, y.Name))
	})
	if len(list) > maxKernels {
		list, more = list[:maxKernels], len(list)-maxKernels
	}
	return list, more
}

// Words describes how often a kernel is launched per unit of a thread.
func (k *Kernel) Words(t *Thread) string {
	about := ""
	if k.Estimate {
		about = "about "
	}
	was := difference.Number(k.A)
	if k.A == 0 {
		was = "none"
	}
	return fmt.Sprintf("%s: %s%s instead of %s launched %s", k.Name, about, difference.Number(k.B), was, t.in())
}
