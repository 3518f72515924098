package agent

import (
	"time"

	"github.com/ingero-io/ingero/event"
)

// tick runs once a second, and at the end. It fills an empty work item.
func (r *run) tick(u *workItem, now time.Time, last bool) *Status {
	s := &second{now: now, span: now.Sub(r.seconds.at), last: last, item: u}
	s.status = &Status{At: now, Elapsed: now.Sub(r.began)}
	r.seconds.at = now
	u.flush = true
	r.followers.second(s)
	u.batch.Losses = r.lost(u.batch.Losses, &s.lost)
	s.status.Losses, s.status.Fill = lossList(r.seconds.losses), r.tracer.Fill()
	u.status = s.status
	r.recorder.send(u)
	r.targets.pending.forget(since)
	return s.status
}

// seconds is the state between two seconds.
type seconds struct {
	at     time.Time                  // end of the last one
	losses [event.NumLossKinds]uint64 // totals at that time
}

// lost appends how much the losses of the kernel, the run and its followers have grown.
func (r *run) lost(l []event.Loss, followers *[event.NumLossKinds]uint64) []event.Loss {
	n, err := r.tracer.Losses()
	if err != nil {
		r.log.Warn("cannot read loss counters", "err", err)
		return l
	}
	const ms = uint64(time.Millisecond)
	n[event.LostMalformed] += r.drained.malformed
	n[event.LostLate] = (uint64(r.targets.late) + ms - 1) / ms
	for k := range n {
		n[k] += followers[k]
		if d := n[k] - r.seconds.losses[k]; d > 0 {
			l = append(l, event.Loss{Kind: event.LossKind(k), Count: d})
		}
	}
	r.seconds.losses = n
	return l
}

func lossList(n [event.NumLossKinds]uint64) []event.Loss {
	var l []event.Loss
	for k, v := range n {
		if v > 0 {
			l = append(l, event.Loss{Kind: event.LossKind(k), Count: v})
		}
	}
	return l
}
