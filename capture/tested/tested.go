// Package tested says on which kernels, and with which drivers and libraries, Ingero was tested, and what was tested
// there. docs/kernels.md has its tables. It is pure; it does not say what works elsewhere, which "ingero check" tries.
package tested

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Relation is how something lies to what was tested.
type Relation string

// The relations. Versions are the same if their first two numbers are; drivers, if their first is.
const (
	Same    Relation = "same"
	Between Relation = "between" // two that were tested
	Older   Relation = "older"   // than all
	Newer   Relation = "newer"   // than all
	Unknown Relation = "unknown" // it has no version, or nothing was tested on its architecture
)

// Near is the nearest of what was tested: the rows of one version, or of the two around it, oldest first.
type Near[R any] struct {
	Is       string   `json:"is"` // what it was asked for: the release of a kernel, or the version of a driver
	Relation Relation `json:"relation"`
	Rows     []R      `json:"rows"`
}

// Version is the first two numbers of a kernel's release, or the first one of a driver's version.
type Version [2]int

func (v Version) compare(w Version) int {
	return cmp.Or(cmp.Compare(v[0], w[0]), cmp.Compare(v[1], w[1]))
}

// ParseKernel reads the version of a release such as 6.12.95+deb12-cloud-amd64.
func ParseKernel(release string) (v Version, ok bool) {
	n, _ := fmt.Sscanf(release, "%d.%d", &v[0], &v[1]) // fewer numbers are no version
	return v, n == 2 && v[0] > 0 && v[1] >= 0
}

// ParseDriver reads the version of a driver such as 580.159.04.
func ParseDriver(version string) (v Version, ok bool) {
	n, _ := fmt.Sscanf(version, "%d", &v[0]) // no number is no version
	return v, n == 1 && v[0] > 0
}

// NearestKernel returns what was tested nearest to a kernel's release on an architecture, as Go calls it.
func NearestKernel(release, arch string) Near[Kernel] {
	var rows []Kernel
	for _, k := range Kernels {
		if k.Arch == arch {
			rows = append(rows, k)
		}
	}
	return nearest(release, rows, ParseKernel, func(k *Kernel) string { return k.Release })
}

// NearestDriver returns what was tested nearest to a version of NVIDIA's driver.
func NearestDriver(version string) Near[Library] {
	var rows []Library
	for _, l := range Libraries {
		if l.Driver != "" {
			rows = append(rows, l)
		}
	}
	return nearest(version, rows, ParseDriver, func(l *Library) string { return l.Driver })
}

// nearest picks the rows whose version is, or is next to, that of what was asked for.
func nearest[R any](is string, rows []R, parse func(string) (Version, bool), text func(*R) string) Near[R] {
	n := Near[R]{Is: is, Relation: Unknown, Rows: []R{}}
	v, ok := parse(strings.TrimSpace(is))
	if !ok || len(rows) == 0 {
		return n
	}
	of := func(r *R) Version {
		w, _ := parse(text(r)) // each row has a version: a test holds that
		return w
	}
	var below, above *Version
	for i := range rows {
		w := of(&rows[i])
		if w.compare(v) <= 0 && (below == nil || below.compare(w) < 0) {
			below = &w
		}
		if w.compare(v) >= 0 && (above == nil || above.compare(w) > 0) {
			above = &w
		}
	}
	switch {
	case below == nil:
		n.Relation = Older
	case above == nil:
		n.Relation = Newer
	case *below == *above:
		n.Relation = Same
	default:
		n.Relation = Between
	}
	for _, r := range rows {
		if w := of(&r); below != nil && w == *below || above != nil && w == *above {
			n.Rows = append(n.Rows, r)
		}
	}
	slices.SortStableFunc(n.Rows, func(a, b R) int { return of(&a).compare(of(&b)) })
	return n
}
