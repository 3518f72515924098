package diagnose

import (
	"slices"

	"github.com/ingero-io/ingero/event"
)

var causeUnreported = cause{
	kind:         event.CauseUnknown,
	takes:        waitsOnGPU,
	claimEpisode: claimUnreported,
}

// claimUnreported takes the waits whose wake-up the kernel did not report. A woken thread is
// runnable at least for a moment. One without a reported wake-up may have slept all the time, or
// waited for a CPU for most of it. So the time is attributed to neither.
func claimUnreported(_ *evidence, a *account) []claim {
	if a.Call == nil {
		return nil
	}
	var claims []claim
	for _, o := range a.Rows {
		if o.State == 0 || o.RunQueue != 0 || o.Waker.TID != 0 || !slices.Contains(soft, o.Class) {
			continue
		}
		if v := a.take(o.Class, o.Duration); v > 0 {
			claims = append(claims, claim{
				acc: a, key: key{kind: event.CauseUnknown}, class: o.Class, lost: v, stall: v,
				why: "asleep, and the kernel did not report when the thread was woken: " +
					"how much of it was waiting for a CPU is not known",
			})
		}
	}
	return claims
}
