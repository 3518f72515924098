package agent

import (
	"time"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
)

// innerLinks removes the probes on the driver's launches, waits and copies, and attaches them
// again, beside the run's loop: the kernel takes some 50 ms for it.
type innerLinks struct {
	*innerCalls
	*shared
	done chan change
}

// maxTurning bounds the changes of one role that wait for the loop.
const maxTurning = 64

func newInnerLinks(s *shared) *innerLinks {
	group := func(uint32) int { return 0 }
	if s.targets.named {
		group = func(pid uint32) int { return int(pid) }
	}
	return &innerLinks{newInnerCalls(group), s, make(chan change, maxTurning)}
}

// follower has no hooks if all driver calls are to be counted.
func (x *innerLinks) follower() follower {
	if x.opts.InnerCalls || x.tracer.Backend() == probe.BackendPerf {
		return follower{}
	}
	return follower{
		records: func(u *workItem) {
			x.lives(u.records.Lives)
			x.calls(u.records.Calls)
		},
		ended: x.ended,
		turn:  x.turn,
		second: func(s *second) {
			if !s.last {
				x.second(s.now, s.span)
			}
			s.lost[event.InnerCalls] = uint64(x.missing(time.Now()) / time.Millisecond)
		},
	}
}

// turn collects finished changes and starts those that are due.
func (x *innerLinks) turn(now time.Time) {
	for {
		select {
		case c := <-x.done:
			x.turned(c, now)
			continue
		default:
		}
		break
	}
	for _, c := range x.check(now) {
		x.put(c)
	}
}

// second starts to remove the probes that a second's calls have shown to be redundant.
func (x *innerLinks) second(now time.Time, span time.Duration) {
	for _, c := range x.innerCalls.second(now, span) {
		x.put(c)
	}
}

// put attaches or removes probes.
func (x *innerLinks) put(c change) {
	var list []*probe.Attachment
	for k, a := range x.targets.attached {
		if k.pid == c.group && a != nil && a.HasInner(c.role) {
			list = append(list, a)
		}
	}
	x.log.Debug("driver calls within runtime calls", "role", c.role, "pid", c.group, "counted", c.on, "files", len(list))
	go func() {
		for _, a := range list {
			if err := x.tracer.SetInner(a, c.role, c.on); err != nil {
				x.log.Debug("probes on the driver's calls", "pid", c.group, "err", err)
			}
		}
		x.done <- c
	}()
}
