package diagnose

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/explain/diagnose/cluster"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// Explain diagnoses a window of a recording. If it holds several machines, each is diagnosed by
// itself, except for collective operations: a rank of one machine may keep the ranks of others
// waiting. prepare, if not nil, may change the input of each machine.
func Explain(ctx context.Context, r store.Reader, w store.Window, prepare func(*Input)) (*report.Report, error) {
	ins, err := LoadMachines(ctx, r, w)
	if err != nil {
		return nil, err
	}
	if prepare != nil {
		for _, in := range ins {
			prepare(in)
		}
	}
	return DiagnoseMachines(ins), nil
}

// Loader reads more of a machine than every diagnosis needs.
type Loader func(context.Context, store.Reader, *Input) error

// LoadMachines does Load for each machine of a recording.
func LoadMachines(ctx context.Context, r store.Reader, w store.Window, more ...Loader) ([]*Input, error) {
	machines, done, err := recording.Machines(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("read which machines were recorded: %w", err)
	}
	defer done()
	var ins []*Input
	for _, m := range machines {
		in, err := loadMachine(ctx, m, w, more)
		if err != nil {
			return nil, err
		}
		ins = append(ins, in)
	}
	return ins, nil
}

func loadMachine(ctx context.Context, r store.Reader, w store.Window, more []Loader) (*Input, error) {
	r, done, err := distinctIDs(ctx, r)
	if err != nil {
		return nil, err
	}
	defer done()
	in, err := Load(ctx, r, w)
	if err != nil {
		return nil, err
	}
	for _, load := range more {
		if err := load(ctx, r, in); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// DiagnoseMachines explains the recordings of several machines together.
func DiagnoseMachines(ins []*Input) *report.Report {
	r, _ := diagnoseMachines(ins)
	return r
}

func diagnoseMachines(ins []*Input) (*report.Report, []*evidence) {
	if busy := slices.DeleteFunc(slices.Clone(ins), (*Input).silent); len(busy) > 0 {
		ins = busy
	} else {
		ins = ins[:1]
	}
	machines := make([]*evidence, len(ins))
	for i, in := range ins {
		machines[i] = newEvidence(in)
	}
	linkMachines(machines)
	for _, ev := range machines {
		ev.find()
	}
	attributeToStraggler(machines)
	reports := make([]*report.Report, len(ins))
	for i, ev := range machines {
		reports[i] = ev.report()
		showKernelIDs(reports[i], ins[i])
	}
	if len(reports) == 1 {
		return reports[0], machines
	}
	return cluster.Merge(reports, cluster.Order{
		Before: foremostFirst,
		Once:   func(c *report.Chain) bool { return causeOf(c.Cause.Kind).ownLosses },
	}), machines
}

// silent reports whether nothing was recorded of the machine in the window.
func (in *Input) silent() bool {
	return len(in.Ops) == 0 && len(in.InFlight) == 0 && in.Footprint == nil && len(in.Collectives) == 0
}

// foremostFirst puts chains of foremost causes first, and orders the rest by severity.
func foremostFirst(a, b report.Chain) int {
	rank := func(c *report.Chain) int {
		if causeOf(c.Cause.Kind).foremost {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(rank(&a), rank(&b)), worstFirst(a, b))
}
