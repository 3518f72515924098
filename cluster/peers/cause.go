package peers

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ingero-io/ingero/cluster/node"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

const (
	// CauseFor is how old a report may be whose finding is the cause of a slow rank: the live diagnosis looks
	// at the last five seconds, every few seconds.
	CauseFor = 15 * time.Second
	// culpritFor is for how long after an event its culprit is looked for.
	culpritFor = 30 * time.Second
	// namedFrom is which share of the lost time must be explained for the culprit to be named.
	namedFrom = 80
)

// liveCauses are what the live diagnosis found last in each process.
type liveCauses struct {
	at   time.Time
	last *report.Report
}

// lowerClock is the kind of a lower clock of the GPU; whether heat or power is behind it is not known.
const lowerClock = "gpu_clock"

// kindOf returns the kind of cause by how a thread spends the time. If a class has none, it is the class's name.
func kindOf(c event.Class) string {
	if c == node.GPU {
		return event.CauseGPUWait
	}
	return cmp.Or(c.Cause(), c.String())
}

// causeOf is why a process loses time, with what its tracer measured in its steps; nil if it is not known. The
// culprit is what the live diagnosis says of the same kind of loss.
func (l *liveCauses) causeOf(pid uint32, measured *node.Cause, now time.Time) *wire.Cause {
	if measured == nil {
		return nil
	}
	out := &wire.Cause{Kind: kindOf(measured.Class), MS: 1e3 * measured.PerStep, Explained: measured.Explained}
	if measured.Clock > 0 {
		out.Kind, out.Culprit = lowerClock, fmt.Sprintf("the GPU's clock is %.0f %% lower", 100*measured.Clock)
		return out
	}
	if measured.Second != measured.Class {
		out.Second = kindOf(measured.Second)
	}
	if l.last == nil || now.Sub(l.at) > CauseFor {
		return out
	}
	for i := range l.last.Chains {
		c := &l.last.Chains[i]
		switch own := c.Effect.PID == pid && c.Cause.Kind == out.Kind; {
		case own && c.ExplainedPct >= namedFrom:
			out.Culprit = culpritOf(c)
		case c.Cause.Kind == event.CauseCollectiveWait && c.Cause.PID == pid && len(c.Path) > 0: // others wait for it
			if last := &c.Path[len(c.Path)-1]; out.Culprit == "" && last.PID == pid && !isClass(last.On) {
				out.Culprit = last.On
			}
		case !own:
			continue
		}
		out.Evidence = append(append(out.Evidence, c.ID), c.Evidence.EventIDs...)
	}
	return out
}

// isClass reports whether a step of a chain has only a class of waiting, such as "sleep": that is how a rank waited,
// and names no culprit.
func isClass(on string) bool {
	return slices.ContainsFunc(event.Classes(), func(c event.Class) bool { return on == c.Title() || on == c.String() })
}

// culpritOf names what causes a loss: a process, else what the finding says of it.
func culpritOf(c *report.Chain) string {
	if c.Cause.Process == "" {
		return c.Cause.Detail
	}
	return fmt.Sprintf("%s (process %d)", c.Cause.Process, c.Cause.PID)
}

// Searches reports whether the culprit of a slow rank is still looked for.
func (p *Peers) Searches(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.open {
		if now.Sub(t.event.At) < culpritFor {
			return true
		}
	}
	return false
}

// Found takes a report of the live diagnosis. If it names the culprit of a slow rank that was reported without
// one, the event is repeated with it, under the same id.
func (p *Peers) Found(r *report.Report) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.causes = liveCauses{now, r}
	for id, t := range p.open {
		if c := p.causes.causeOf(t.pid, t.cause, now); c != nil && c.Culprit != "" {
			t.event.Cause, t.event.At = c, now.UTC()
			delete(p.open, id)
			p.later(t)
			p.send(&t)
		}
	}
}
