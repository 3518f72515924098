package export

import (
	"context"
	"io"
	"time"

	"github.com/google/pprof/profile"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// Pprof writes a profile with four values: the number and time of library calls, and those of
// off-CPU waits. The root of each stack is the process; its leaf the operation, and below it what
// was waited for. Only some calls have a stack (slow ones, and a sample of the others).
func Pprof(ctx context.Context, w io.Writer, src Source, o Options) error {
	p := &pprofile{
		rows:      rows{tell: o.Progress},
		functions: map[functionKey]*profile.Location{}, stacks: map[uint64][]*profile.Location{},
		out: &profile.Profile{
			SampleType: []*profile.ValueType{
				{Type: "calls", Unit: "count"},
				{Type: "call_time", Unit: "nanoseconds"},
				{Type: "waits", Unit: "count"},
				{Type: "off_cpu", Unit: "nanoseconds"},
			},
			DefaultSampleType: "call_time",
		},
	}
	sum, err := src.Summary(ctx)
	if err != nil {
		return err
	}
	from, to := max(sum.First, o.Window.From), sum.Last
	if o.Window.To != 0 {
		to = min(to, o.Window.To)
	}
	p.out.TimeNanos, p.out.DurationNanos = int64(from), int64(to-min(to, from))
	machines, err := machinesOf(ctx, src)
	if err != nil {
		return err
	}
	defer machines.close()
	p.several = len(machines) > 1
	for _, p.machine = range machines {
		if err := p.addProfile(ctx, o); err != nil {
			return err
		}
	}
	if err := p.out.CheckValid(); err != nil {
		return err
	}
	return p.out.Write(w)
}

// pprofile is a profile being made. Its size depends on the number of different stacks, not of
// calls.
type pprofile struct {
	rows      rows
	out       *profile.Profile
	functions map[functionKey]*profile.Location
	stacks    map[uint64][]*profile.Location
	several   bool // machines

	*machine
	samples map[sampleKey]*profile.Sample
	names   map[uint32]string // of processes
}

// addProfile adds a machine.
func (p *pprofile) addProfile(ctx context.Context, o Options) error {
	p.samples, p.names = map[sampleKey]*profile.Sample{}, map[uint32]string{}
	procs, err := store.List[store.Process](ctx, p.src, store.Window{})
	if err != nil {
		return err
	}
	for i := range procs {
		p.names[procs[i].PID] = report.Printable(procs[i].Name)
	}
	if err := p.calls(ctx, o); err != nil {
		return err
	}
	return p.waits(ctx, o)
}

type sampleKey struct {
	pid   uint32
	op    event.Op
	stack uint64
	class event.Class // NumClasses of calls
}

type functionKey struct {
	name, file string
	line       uint32
}

// Indices of a sample's values.
const (
	callCount = iota
	callTime
	waitCount
	waitTime
	numValues
)

func (p *pprofile) calls(ctx context.Context, o Options) error {
	var failed error
	err := p.src.Calls(ctx, o.Window, func(c *event.Call) bool {
		p.rows.countRow()
		s := p.samples[sampleKey{c.PID, c.Op, c.Stack, event.NumClasses}]
		if s == nil {
			s, failed = p.sample(ctx, sampleKey{c.PID, c.Op, c.Stack, event.NumClasses})
		}
		if failed != nil {
			return false
		}
		const longest = uint64(24 * time.Hour) // of a call; longer ones are damaged
		n := uint64(max(c.Weight, 1))
		c.Duration, c.Rest = min(c.Duration, longest), min(c.Rest, (n-1)*longest)
		s.Value[callCount] += int64(n)
		s.Value[callTime] += int64(c.TotalNS())
		return true
	})
	if failed != nil {
		return failed
	}
	return err
}

func (p *pprofile) waits(ctx context.Context, o Options) error {
	var failed error
	err := p.src.OffCPU(ctx, o.Window, func(x *event.OffCPU) bool {
		p.rows.countRow()
		runq := min(x.RunQueue, x.Duration)
		for _, part := range []struct {
			class event.Class
			ns    uint64
		}{{x.Class, x.Duration - runq}, {event.RunQueue, runq}} {
			if part.ns == 0 {
				continue
			}
			key := sampleKey{x.PID, x.Op, 0, part.class}
			s := p.samples[key]
			if s == nil {
				s, failed = p.sample(ctx, key)
			}
			if failed != nil {
				return false
			}
			s.Value[waitCount]++
			s.Value[waitTime] += int64(part.ns)
		}
		return true
	})
	if failed != nil {
		return failed
	}
	return err
}

// sample makes the sample of a key.
func (p *pprofile) sample(ctx context.Context, k sampleKey) (*profile.Sample, error) {
	s := &profile.Sample{
		Value:    make([]int64, numValues),
		Label:    map[string][]string{"process": {p.names[k.pid]}},
		NumLabel: map[string][]int64{"pid": {int64(k.pid)}},
	}
	if p.several {
		s.Label["node"] = []string{report.Printable(p.name)}
	}
	if k.class != event.NumClasses {
		s.Label["class"] = []string{k.class.String()}
		s.Location = append(s.Location, p.location(functionKey{name: "[" + k.class.String() + "]"}))
	}
	if k.op != 0 {
		s.Location = append(s.Location, p.location(functionKey{name: k.op.String()}))
	} else {
		s.Location = append(s.Location, p.location(functionKey{name: "[between calls]"}))
	}
	frames, err := p.frames(ctx, k.stack)
	if err != nil {
		return nil, err
	}
	name := p.names[k.pid]
	if name == "" {
		name = "[unknown process]"
	}
	s.Location = append(append(s.Location, frames...), p.location(functionKey{name: name}))
	p.out.Sample = append(p.out.Sample, s)
	p.samples[k] = s
	return s, nil
}

// frames are the locations of a stack, innermost first.
func (p *pprofile) frames(ctx context.Context, id uint64) ([]*profile.Location, error) {
	if id == 0 {
		return nil, nil
	}
	if l, ok := p.stacks[id]; ok {
		return l, nil
	}
	st, err := p.src.Stack(ctx, id)
	if err != nil {
		return nil, err
	}
	l := make([]*profile.Location, 0, len(st.Frames))
	for i := range st.Frames {
		f := &st.Frames[i]
		k := functionKey{name: report.Printable(f.Symbol), file: report.Printable(f.File), line: f.Line}
		if f.Symbol == "" {
			k = functionKey{name: report.Printable(f.String())}
		}
		l = append(l, p.location(k))
	}
	p.stacks[id] = l
	return l, nil
}

// location makes a function, with the one place in it that is known.
func (p *pprofile) location(k functionKey) *profile.Location {
	if l, ok := p.functions[k]; ok {
		return l
	}
	f := &profile.Function{ID: uint64(len(p.out.Function) + 1), Name: k.name, SystemName: k.name, Filename: k.file}
	p.out.Function = append(p.out.Function, f)
	l := &profile.Location{ID: uint64(len(p.out.Location) + 1), Line: []profile.Line{{Function: f, Line: int64(k.line)}}}
	p.out.Location = append(p.out.Location, l)
	p.functions[k] = l
	return l
}
