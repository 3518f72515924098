package straggler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// Case is one thing that happens to a job, in one run.
type Case struct {
	Name string `json:"name"`
	// SizePct is by how much the rank is late, in percent of a step; 0: that has no meaning.
	SizePct int `json:"size_pct,omitempty"`

	late  string // option of victim-ranks; empty: no rank is late
	kind  string // type of the event that must come; empty: none may
	cause string // kind of the cause that must be named; empty: any
	act   act
}

// act is what is done to the fleet.
type act uint8

const (
	nothing  act = iota
	cutNode      // the second node's link is taken down and, once that is reported, up again
	killOnce     // the fleet's server is killed while a rank is slow, and started again
	measure      // the tracers' CPU time is measured, without and with a fleet
)

var sizes = []int{10, 20, 30}

// causes are the latenesses of a rank, as victim-ranks has them, and the causes that must be named.
var causes = []struct{ name, late, kind string }{
	{"cpu", "cpu", "cpu_contention"},
	{"quota", "quota", "cpu_throttled"},
	{"disk", "disk", "block_io"},
	{"lock", "lock", "lock_contention"},
	{"gpu", "gpu", "gpu_wait"},
	{"data", "data", "peer_wait"},
}

// others are the cases without sizes.
var others = []Case{
	{Name: "exit", late: "exit", kind: health.KindGone.String()},
	{Name: "hang", late: "hang", kind: health.KindHang.String()},
	{Name: "node cut off", kind: health.KindMissing.String(), act: cutNode},
	{Name: "server killed", SizePct: 20, late: "disk", kind: wire.EventStraggler, cause: "block_io", act: killOnce},
	{Name: "even"},
	{Name: "cost", act: measure},
}

// Names are the values of Options.Only.
func Names() (list []string) {
	for _, c := range causes {
		list = append(list, c.name)
	}
	for i := range others {
		list = append(list, others[i].Name)
	}
	return list
}

// Plan is the cases to run: those of a name in o.Only, or all. Quick: those of 20 % only.
func Plan(o *Options) ([]Case, error) {
	for _, n := range o.Only {
		if !slices.Contains(Names(), n) {
			return nil, fmt.Errorf("there is no case %q; there are %s", n, strings.Join(Names(), ", "))
		}
	}
	var list []Case
	for _, c := range causes {
		for _, s := range sizes {
			if !o.Quick || s == 20 {
				list = append(list, Case{Name: c.name, SizePct: s, late: c.late, kind: wire.EventStraggler, cause: c.kind})
			}
		}
	}
	list = append(list, others...)
	return slices.DeleteFunc(list, func(c Case) bool {
		return len(o.Only) > 0 && !slices.Contains(o.Only, c.Name)
	}), nil
}

// Title names a case and its size.
func (c *Case) Title() string {
	if c.SizePct == 0 {
		return c.Name
	}
	return fmt.Sprintf("%s, %d %%", c.Name, c.SizePct)
}
