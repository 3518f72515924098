package agent

import (
	"maps"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// tick does what is done once a second, and at the last. It fills an empty unit.
func (r *run) tick(u *unit, now time.Time, last bool) {
	span := now.Sub(r.second)
	r.second = now
	u.flush = true
	r.gpus.take(&u.batch, func(pid uint32) { r.processTable.addUntraced(pid, "") })
	r.innerSecond(now, span)
	u.batch.Losses = r.lost(u.batch.Losses)
	r.processTable.frameworks()
	u.batch.Throttles = r.processTable.throttles(u.batch.Throttles, now)
	u.batch.Snapshots = append(u.batch.Snapshots, r.processTable.snapshot(now)...)
	r.accounts.tell(u)
	at := uint64(now.UnixNano())
	if r.stopped {
		at = 0
	}
	u.batch.Collectives = r.accounts.ranks.Take(at, u.batch.Collectives)
	u.batch.Memory, u.batch.MemorySites = r.accounts.memory.Take(uint64(now.UnixNano()), u.batch.Memory, u.batch.MemorySites)
	r.requests(&u.batch, last)
	u.batch.HostMemory = r.hostIO.second(u.batch.HostMemory, r.watched(), now)
	u.batch.Pages = r.pages.take(now)
	u.batch.Footprint = r.footprints.take(now, r.processTable.name)
	r.setLimits(r.meter.limits(span))
	u.looked = true
	r.look(&u.records)
	u.batch.InFlight = r.accounts.inFlightTracker.take(u.batch.InFlight)
	u.status = r.status(now, span)
	r.recorder.send(u)
	r.processTable.prune()
	r.targets.pending.forget(since)
	r.releaseCode(now)
}

// watched are the processes whose use of the host is of interest: those that use a
// library, and those that were asked for.
func (r *run) watched() map[int]bool {
	if len(r.targets.processTree) == 0 {
		return r.targets.traced
	}
	all := maps.Clone(r.targets.processTree)
	maps.Copy(all, r.targets.traced)
	return all
}

// requests reads what processes did at block devices.
func (r *run) requests(to *store.Batch, last bool) {
	var err error
	if to.RequestSums, err = r.tracer.Requests(to.RequestSums, last); err != nil {
		r.log.Warn("cannot read sums of block I/O", "err", err)
	}
	for i := range to.RequestSums {
		r.hostIO.device(to.RequestSums[i].Device)
	}
	r.hostIO.take(to)
}

func (r *run) setLimits(limits map[event.Op]limit) {
	for op, l := range limits {
		if err := r.tracer.SetLimit(op, l.stack, l.off); err != nil {
			r.log.Warn("cannot set limits", "op", op, "err", err)
		}
	}
}

// lost appends the increments of the kernel's counters.
func (r *run) lost(l []event.Loss) []event.Loss {
	n, err := r.tracer.Losses()
	if err != nil {
		r.log.Warn("cannot read loss counters", "err", err)
		return l
	}
	const ms = uint64(time.Millisecond)
	n[event.LostFootprint] += r.footprints.missed
	if r.footprints.over {
		n[event.FootprintOver]++
	}
	n[event.LostMalformed] += r.malformed
	n[event.LostPages] += r.pages.missed
	n[event.LostReading] += r.gpus.missed
	if r.accounts.inner != nil {
		n[event.InnerCalls] = uint64(r.accounts.inner.missing(time.Now())) / ms
	}
	n[event.LostLate] = (uint64(r.targets.late) + ms - 1) / ms
	for k, v := range n {
		if d := v - r.losses[k]; d > 0 {
			l = append(l, event.Loss{Kind: event.LossKind(k), Count: d})
		}
	}
	r.losses = n
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
