package health

import "time"

// order returns the agent's run, and what rises from push to push within it.
func (p *Push) order() (run, order uint64) {
	if p.Run == 0 {
		return 0, uint64(p.Sent)
	}
	return p.Run, p.Number
}

// late reports whether a push is not newer than what the rank pushed before. Another run begins anew: its agent was
// started again, or has another version. No push keeps later ones out for longer than setBackAfter.
func (m *member) late(now time.Duration, p *Push) bool {
	run, order := p.order()
	return run == m.run && order <= m.order && now-m.seen < setBackAfter
}

// overtaken is how many later pushes of the same agent may come before one that is under way.
const overtaken = 1024

// expected reports whether it is usual that a push is late: its answer was lost, so its agent sent it twice, or
// another push of its agent has overtaken it.
func (p *Push) expected(m *member) bool {
	run, order := p.order()
	return order == m.order || run != 0 && order+overtaken > m.order
}

// refusals count what was pushed and is not used.
type refusals struct {
	total [Reasons]uint64
	last  [Reasons]Refusal // of the last push
}

// Refusal says which ranks of a push were refused as a whole.
type Refusal struct {
	Reason Reason
	First  int32 // the first such rank
	Ranks  int   // how many there are
}

// rank counts a refused rank. What is expected is no news to its agent.
func (r *refusals) rank(why Reason, rank int32, expected bool) {
	r.total[why]++
	if expected {
		return
	}
	l := &r.last[why]
	if l.Ranks == 0 {
		l.Reason, l.First = why, rank
	}
	l.Ranks++
}

// Refusals appends to out which ranks of the last push were refused, and why.
func (f *Fleet) Refusals(out []Refusal) []Refusal {
	for _, l := range f.refused.last {
		if l.Ranks > 0 {
			out = append(out, l)
		}
	}
	return out
}
