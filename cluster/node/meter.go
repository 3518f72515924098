package node

import (
	"slices"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/ownwork"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Meter measures the ranks on a node from what a tracer records. It makes a row per rank and second, which is all
// that a Node needs. Rows may be recorded, and given to a Node later. A Meter is not safe for concurrent use.
type Meter struct {
	work   *ownwork.Tracker
	lost   []event.Loss // since the last second
	ended  []event.Life // since the last second: threads and processes without further calls
	steps  []ownwork.Step
	pids   []uint32
	ranks  map[uint32]*metered // by process
	why    map[uint32]string   // last reported reason, of processes that are not ranks
	clocks clocks
}

// metered is a process that has made steps.
type metered struct {
	source ownwork.Source
	step   uint64 // Unix ns: end of the last step
	flight flight
	waits  [event.NumClasses]uint64 // ns in the second in progress
}

// NewMeter returns a meter without ranks.
func NewMeter() *Meter {
	return &Meter{work: ownwork.NewTracker(), ranks: map[uint32]*metered{}, why: map[uint32]string{}, clocks: newClocks()}
}

// Batch takes in recorded data. It keeps no reference to b.
func (m *Meter) Batch(b *store.Batch) {
	m.work.Lives(b.Lives)
	m.work.Calls(b.Calls)
	m.work.Collectives(b.Collectives)
	m.lost = append(m.lost, b.Losses...)
	for i := range b.Lives {
		if l := &b.Lives[i]; l.Kind == event.LifeExit && l.PID != l.TID {
			m.ended = append(m.ended, *l)
		}
	}
	for _, pid := range b.Ended {
		m.ended = append(m.ended, event.Life{Kind: event.LifeExit, Thread: event.Thread{PID: pid, TID: pid}})
	}
	m.clocks.takeClocks(b)
	m.spend(b)
	m.waiting(b)
}

// Second is called about once a second, after the batches up to at (Unix ns). It appends to out a row for each rank,
// and one for each other process with collectives whose reason has changed.
func (m *Meter) Second(at uint64, out []store.RankSteps) []store.RankSteps {
	m.work.Losses(at, m.lost)
	m.clocks.give(m.work)
	m.steps = m.work.Take(at, m.steps[:0])
	first := len(out)
	for i := range m.steps {
		s := &m.steps[i]
		if s.Rank < 0 || s.Ranks < 2 {
			continue
		}
		if n := len(out); n == first || out[n-1].PID != s.PID {
			out = append(out, m.begin(at, s))
		}
		row := &out[len(out)-1]
		row.Steps = append(row.Steps, rankStep(s))
		m.ranks[s.PID].step = uint64(s.End)
	}
	out = m.others(at, first, out)
	for i := first; i < len(out); i++ {
		m.finish(at, &out[i])
	}
	m.work.Ended(m.ended)
	for i := range m.ended {
		if l := &m.ended[i]; l.PID == l.TID {
			delete(m.ranks, l.PID)
			delete(m.why, l.PID)
		}
	}
	for pid, r := range m.ranks {
		if at-min(r.step, at) > uint64(silentFor) {
			delete(m.ranks, pid)
		}
	}
	m.lost, m.ended = m.lost[:0], m.ended[:0]
	return out
}

// begin returns the row of a process that has made steps.
func (m *Meter) begin(at uint64, s *ownwork.Step) store.RankSteps {
	r := m.ranks[s.PID]
	if r == nil {
		r = &metered{}
		m.ranks[s.PID] = r
		delete(m.why, s.PID)
	}
	r.source = s.Source
	return store.RankSteps{At: at, PID: s.PID}
}

// others appends rows of processes without steps: ranks, and others whose reason has changed.
func (m *Meter) others(at uint64, first int, out []store.RankSteps) []store.RankSteps {
	m.pids = m.work.Processes(m.pids[:0])
	for pid := range m.ranks { // a process that executes another program is no longer followed
		m.pids = append(m.pids, pid)
	}
	slices.Sort(m.pids)
	for _, pid := range slices.Compact(m.pids) {
		if slices.ContainsFunc(out[first:], func(r store.RankSteps) bool { return r.PID == pid }) {
			continue
		}
		if m.ranks[pid] == nil {
			why := whyOf(m.work.Report(pid, at).Reason)
			if before, said := m.why[pid]; said && before == why {
				continue
			}
			m.why[pid] = why
		}
		out = append(out, store.RankSteps{At: at, PID: pid})
	}
	return out
}

// finish fills in the fields of a row other than its steps.
func (m *Meter) finish(at uint64, row *store.RankSteps) {
	report := m.work.Report(row.PID, at)
	row.Rank, row.Why, row.Spare = health.NoRank, whyOf(report.Reason), report.Spare()
	row.Skipped, row.Pairs = report.Skipped, report.Pairs
	row.Ended = slices.ContainsFunc(m.ended, func(l event.Life) bool { return l.PID == row.PID && l.TID == row.PID })
	r := m.ranks[row.PID]
	if r == nil {
		return
	}
	row.Rank, row.Ranks, row.Comm, row.Every = r.source.Rank, r.source.Ranks, r.source.Comm, r.source.Every
	row.Key = r.source.Key()
	row.Waits, r.waits = r.waits, [event.NumClasses]uint64{}
	if row.Entered = m.work.Entered(row.PID, r.source.Comm); row.Entered > 0 {
		row.OpenNS = r.flight.open(at)
	}
}

// rankStep converts a step to its recorded form.
func rankStep(s *ownwork.Step) store.RankStep {
	return store.RankStep{
		Seq: s.Seq, End: uint64(s.End), OwnNS: uint64(s.Own), WaitNS: uint64(s.Wait), GPUNS: uint64(s.GPU), Work: s.Work,
		Clock: s.Clock, Device: s.Measured == health.MeasuredDevice,
	}
}

// stepOf converts a recorded step.
func stepOf(s *store.RankStep) health.Step {
	measured := health.MeasuredHost
	if s.Device {
		measured = health.MeasuredDevice
	}
	return health.Step{
		Seq: s.Seq, End: time.Duration(s.End), Own: time.Duration(s.OwnNS), Wait: time.Duration(s.WaitNS), Work: s.Work,
		Clock: s.Clock, Measured: measured,
	}
}

// whyOf returns the recorded text of a reason, empty if the rank is measured.
func whyOf(r ownwork.Reason) string {
	if r == ownwork.Measured {
		return ""
	}
	return r.String()
}

// reasonOf returns the reason of a recorded text.
func reasonOf(why string) ownwork.Reason {
	for r := range ownwork.Reasons {
		if why != "" && r.String() == why {
			return r
		}
	}
	return ownwork.Measured
}

// spend takes in the off-CPU time of the ranks' threads: in gaps, and in calls that do not wait for the GPU or for
// other ranks.
func (m *Meter) spend(b *store.Batch) {
	if len(m.ranks) == 0 {
		return
	}
	for i := range b.Gaps {
		g := &b.Gaps[i]
		if r := m.ranks[g.PID]; r != nil {
			r.waited(&g.Ledger)
		}
	}
	for i := range b.Calls {
		c := &b.Calls[i]
		if c.Depth > 0 || c.Ledger.Voluntary == 0 && c.Ledger.Involuntary == 0 || c.Op.Role() == event.RoleSync ||
			c.Op.Source() == event.SourceNCCL {
			continue
		}
		if r := m.ranks[c.PID]; r != nil {
			r.waited(&c.Ledger)
		}
	}
}

func (r *metered) waited(l *event.Ledger) {
	for c, ns := range l.NS {
		r.waits[c] += ns
	}
}
