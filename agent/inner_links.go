package agent

import (
	"time"

	"github.com/ingero-io/ingero/probe"
)

// innerLinks takes the probes off the driver's launches, waits and copies, and puts them back on,
// beside the run's loop: the kernel takes some 50 ms for it.
type innerLinks struct {
	*innerCalls
	done chan change
}

// maxTurning is how many groups of a role may have their probes changed before somebody looks.
const maxTurning = 64

func newInnerLinks(t *targets) *innerLinks {
	group := func(uint32) int { return 0 }
	if t.named {
		group = func(pid uint32) int { return int(pid) }
	}
	return &innerLinks{newInnerCalls(group), make(chan change, maxTurning)}
}

// innerCalls learns which probes were changed, and has those changed that are due.
func (r *run) innerCalls(now time.Time) {
	if r.accounts.inner == nil {
		return
	}
	for {
		select {
		case c := <-r.accounts.inner.done:
			r.accounts.inner.turned(c, now)
			continue
		default:
		}
		break
	}
	for _, c := range r.accounts.inner.check(now) {
		r.turnInner(c)
	}
}

// innerSecond has the probes taken off where a second's calls showed that they tell nothing.
func (r *run) innerSecond(now time.Time, span time.Duration) {
	if r.accounts.inner == nil || r.stopped {
		return
	}
	for _, c := range r.accounts.inner.second(now, span) {
		r.turnInner(c)
	}
}

func (r *run) turnInner(c change) {
	var list []*probe.Attachment
	for k, a := range r.targets.attached {
		if k.pid == c.group && a != nil && a.HasInner(c.role) {
			list = append(list, a)
		}
	}
	r.log.Debug("driver calls within runtime calls", "role", c.role, "pid", c.group, "counted", c.on, "files", len(list))
	go func() {
		for _, a := range list {
			if err := r.tracer.SetInner(a, c.role, c.on); err != nil {
				r.log.Debug("probes on the driver's calls", "pid", c.group, "err", err)
			}
		}
		r.accounts.inner.done <- c
	}()
}
