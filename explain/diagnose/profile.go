package diagnose

import (
	"context"
	"fmt"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// Profile is what a thread that makes calls did in a window: the totals by which two windows are
// compared.
type Profile struct {
	event.Thread
	Process string // name
	Name    string // the thread's own
	Rank    int    // of a distributed job; -1 if unknown
	Node    string // empty if the recording does not name it
	Command string // line, of the process; empty if unknown
	// CPUs are those that the thread may run on (0-3,8), and Scheduling is its policy and priority;
	// both empty if they were not recorded.
	CPUs, Scheduling string
	Settings         map[string]string // of the process, by name; nil if they were not recorded
	From             uint64            // Unix ns: start of its first call in the window
	To               uint64            // Unix ns: end of its last one
	Steps            ledger.Steps
	Count            uint64                    // of steps, exact; 0 if the calls do not repeat
	Warmup           uint64                    // ns until the steps are no longer much slower than later ones
	Ops              []*store.OpStat           // outermost operations, by number
	Between          event.Ledger              // off-CPU time between calls, by class
	Idle             event.Ledger              // the part of it in which it waited for work
	Series           []store.OpSecond          // calls of each operation by time, also nested ones
	Libraries        []store.Library           // the files that its process uses
	Kernels          map[string]KernelLaunches // by name; of kernels whose name is known
	Code             *report.Code              // that ran on a CPU between calls; nil: too few samples
	// SeriesStep is the length of each entry of Series, in seconds; 0 means 1.
	SeriesStep uint64
}

// Study explains windows of several machines, as DiagnoseMachines does, and returns the profiles of the
// threads that make calls, too.
func Study(ins []*Input) (*report.Report, []Profile) {
	rep, machines := diagnoseMachines(ins)
	var list []Profile
	for _, ev := range machines {
		series := map[event.Thread][]store.OpSecond{}
		for _, o := range ev.in.Series {
			series[o.Thread] = append(series[o.Thread], o)
		}
		launches := ev.in.launches()
		for _, t := range ev.subjects {
			p := ev.profile(t)
			p.Series, p.SeriesStep = series[t.Thread], ev.in.SeriesStep
			p.Kernels = launches[t.Thread]
			list = append(list, p)
		}
	}
	return rep, list
}

func (ev *evidence) profile(t *subject) Profile {
	p := Profile{
		Thread: t.Thread, Process: ev.procs.name(t.PID, ""), Name: ev.procs.comm(t.Thread), Rank: -1,
		From: t.from, To: t.to, Steps: t.steps, Count: t.count, Warmup: warmup(t), Ops: t.ops,
		Between: ev.calls.gapStats[t.Thread].ledger, Node: ev.in.Node,
		Code: ev.codeBetween(t.Thread, 0, t.from+warmup(t), t.to),
	}
	if q := ev.procs.byPID[t.PID]; q != nil {
		p.Rank, p.Command = q.Rank, q.Command
	}
	if s, ok := ev.host.scheduling(t.Thread); ok {
		p.CPUs, p.Scheduling = s.CPUs, s.Policy.String()
		switch {
		case s.Policy.Realtime():
			p.Scheduling += fmt.Sprintf(", priority %d", s.Realtime)
		case s.Nice != 0:
			p.Scheduling += fmt.Sprintf(", nice %d", s.Nice)
		}
	}
	p.Settings = ev.in.SettingsOf(t.PID)
	for i := range ev.in.Libraries {
		if l := &ev.in.Libraries[i]; l.PID == t.PID {
			p.Libraries = append(p.Libraries, *l)
		}
	}
	for name, ns := range ev.calls.idleBy(t) {
		if c, ok := event.ClassByName(name); ok && c < event.NumClasses {
			p.Idle.NS[c] = min(ns, p.Between.NS[c])
		}
	}
	return p
}

// KernelLaunches is how often a thread launched kernels of a name.
type KernelLaunches struct {
	Calls  uint64 // an estimate if it is more than Stored
	Stored uint64 // calls that were stored one by one
}

// LoadLaunches reads how often each thread launched each kernel.
func LoadLaunches(ctx context.Context, r store.Reader, in *Input) (err error) {
	if len(in.Kernels) == 0 {
		return nil // no name is known
	}
	in.Launches, err = store.List[store.KernelLaunches](ctx, r, in.Window)
	return err
}

// launches returns a thread's launches by the kernel's name.
func (in *Input) launches() map[event.Thread]map[string]KernelLaunches {
	type function struct {
		pid  uint32
		addr uint64
	}
	names := map[function]string{}
	for _, k := range in.Kernels {
		names[function{k.PID, k.Func}] = k.Name
	}
	by := map[event.Thread]map[string]KernelLaunches{}
	for _, l := range in.Launches {
		name := names[function{l.PID, l.Func}]
		if name == "" {
			continue
		}
		if by[l.Thread] == nil {
			by[l.Thread] = map[string]KernelLaunches{}
		}
		k := by[l.Thread][name]
		by[l.Thread][name] = KernelLaunches{k.Calls + l.Calls, k.Stored + l.Stored}
	}
	return by
}
