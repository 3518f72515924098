package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
)

// leastAlike is the least likeness of a pair: the same calls in about the same proportions, or the same program with
// calls that have little in common.
const leastAlike = 0.5

// pair pairs the threads of two sides by what they do: process ids mean nothing from one run to the next. The most
// alike come first; among equals, the threads with most calls.
func pair(a, b []diagnose.Profile) (pairs [][2]*diagnose.Profile, onlyA, onlyB []*diagnose.Profile) {
	type candidate struct {
		a, b  *diagnose.Profile
		alike float64
	}
	var list []candidate
	for i := range a {
		for j := range b {
			if v := alike(&a[i], &b[j]); v >= leastAlike {
				list = append(list, candidate{&a[i], &b[j], v})
			}
		}
	}
	slices.SortStableFunc(list, func(x, y candidate) int {
		return cmp.Or(-cmp.Compare(math.Round(x.alike*100), math.Round(y.alike*100)),
			-cmp.Compare(weight(x.a), weight(y.a)), -cmp.Compare(weight(x.b), weight(y.b)))
	})
	taken := map[*diagnose.Profile]bool{}
	for _, c := range list {
		if !taken[c.a] && !taken[c.b] {
			taken[c.a], taken[c.b] = true, true
			pairs = append(pairs, [2]*diagnose.Profile{c.a, c.b})
		}
	}
	slices.SortStableFunc(pairs, func(x, y [2]*diagnose.Profile) int { return -cmp.Compare(inCalls(x[0]), inCalls(y[0])) })
	rest := func(side []diagnose.Profile) (list []*diagnose.Profile) {
		for i := range side {
			if !taken[&side[i]] {
				list = append(list, &side[i])
			}
		}
		return list
	}
	return pairs, rest(a), rest(b)
}

func weight(p *diagnose.Profile) (n uint64) {
	for _, o := range p.Ops {
		n += o.Calls
	}
	return n
}

func inCalls(p *diagnose.Profile) (ns uint64) {
	for _, o := range p.Ops {
		ns += o.SumNS
	}
	return ns
}

// alike returns how alike two threads are: up to 1 for the cosine of their numbers of calls, on a logarithmic scale
// so that rare operations count too, and more if the program, the thread or the rank has the same name. Threads of
// different ranks of a job are not a pair.
func alike(a, b *diagnose.Profile) float64 {
	if a.Rank >= 0 && b.Rank >= 0 && a.Rank != b.Rank {
		return 0
	}
	v := cosine(logs(a), logs(b))
	if a.Process == b.Process {
		v += 0.5
	}
	if a.Name == b.Name {
		v += 0.25
	}
	if a.Rank >= 0 && a.Rank == b.Rank {
		v++
	}
	if a.Node == b.Node {
		v += 0.125 // among equal threads of a job without ranks, prefer the same machine
	}
	return v
}

func logs(p *diagnose.Profile) map[event.Op]float64 {
	m := map[event.Op]float64{}
	for _, o := range p.Ops {
		m[o.Op] = math.Log1p(float64(o.Calls))
	}
	return m
}

func cosine(a, b map[event.Op]float64) float64 {
	var both, aa, bb float64
	for op, v := range a {
		both += v * b[op]
		aa += v * v
	}
	for _, v := range b {
		bb += v * v
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return both / math.Sqrt(aa*bb)
}
