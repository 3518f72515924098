package ownwork

import (
	"time"

	"github.com/ingero-io/ingero/cluster/health"
)

// counts are statistics of a process's steps.
type counts struct {
	steps, skipped uint64
	unwaited       int  // steps since the last one with a wait
	dropped        bool // the last Take left out steps, because records were dropped
}

// takeSteps appends the steps that ended.
func (p *process) takeSteps(t *Tracker, at uint64, list []Step) []Step {
	for _, m := range p.comms {
		if m.pattern(&t.find) && m == p.chosen {
			p.begin(m)
		}
	}
	p.choose(at)
	p.waits.settle()
	p.counts.dropped = false
	m := p.chosen
	if m == nil || p.several() {
		p.waits.forget(at - min(at, uint64(silentAfter)))
		return list
	}
	n := m.next
	if first := (m.first + m.every - 1) / m.every; n < first {
		if n != 0 {
			p.counts.skipped += uint64(first - n)
			p.counts.dropped = true
		}
		n = first
	}
	for ; (n+1)*m.every <= m.last; n++ {
		from, to := m.op(n*m.every), m.op((n+1)*m.every)
		whole := m.whole(n*m.every, (n+1)*m.every) && !t.dropped(from.at, to.at)
		if !whole || to.at <= from.at {
			p.counts.skipped++
			p.counts.dropped = true
			p.follow.last = 0
			continue
		}
		if from.at >= p.waits.kept { // earlier ones precede the choice of the communicator
			list = append(list, p.step(n, from, to))
		}
	}
	m.next = n
	return list
}

// dropped reports whether records were dropped in an interval.
func (t *Tracker) dropped(from, to uint64) bool {
	for _, s := range t.drops {
		if s.from < to && s.to > from {
			return true
		}
	}
	return false
}

// step returns the step from one operation to another.
func (p *process) step(seq uint32, from, to *op) Step {
	took := to.at - from.at
	waited, until := p.waits.within(from.at, to.at)
	if full := to.full - from.full; full > 0 {
		waited, until = min(waited+uint64(full)*1000, took), to.at
	}
	s := Step{
		Source: p.source(), GPU: time.Duration(p.waits.ownGPU(from.at, to.at)),
		Step: health.Step{
			Seq: uint64(seq), End: time.Duration(to.at), Own: time.Duration(max(took-waited, 1)), Wait: time.Duration(waited),
			Work: float64(to.launches - from.launches), Clock: p.clockIn(from.at, to.at), Measured: health.MeasuredHost,
		},
	}
	p.counts.steps++
	if p.counts.unwaited++; waited > 0 {
		p.counts.unwaited = 0
	}
	p.follow.step(waited, until)
	return s
}

func (p *process) source() Source {
	m := p.chosen
	return Source{PID: p.pid, Comm: m.id, Rank: m.rank, Ranks: m.ranks, Every: m.every}
}
