package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/ingero-io/ingero/event"
)

var causeStalled = cause{
	kind:         event.CauseUnknown,
	takes:        onCPU | waitsOnGPU,
	claimEpisode: claimStalled,
}

// claimStalled takes, of a call's time beyond its median, the time in which the thread's CPU did
// not even take its timer interrupts. Then neither the GPU nor the library delayed the thread. What
// a hypervisor ran on the CPU instead cannot be seen.
func claimStalled(ev *evidence, a *account) []claim {
	if a.Call == nil || len(ev.host.stalls) == 0 {
		return nil
	}
	v := ev.host.stalled(a)
	if v == 0 {
		return nil
	}
	classes := append([]event.Class{event.OnCPU}, soft...)
	var excess uint64
	for _, c := range classes {
		excess += a.left[c]
	}
	if float64(v) >= half*float64(excess) {
		v = excess // most of the excess: the thread caught up in the rest
	}
	var claims []claim
	for _, c := range classes {
		t := a.take(c, v)
		v -= t
		if t > 0 {
			claims = append(claims, claim{
				acc: a, key: key{kind: event.CauseUnknown}, class: c, lost: t, stall: t,
				why: "in which the CPU took no interrupts: the hypervisor ran something else on it, or the kernel had " +
					"disabled interrupts",
			})
		}
	}
	return claims
}

// stalled returns how long the CPU of an episode was stalled during it, ns. If no off-CPU interval names
// the CPU, all CPUs count: a thread's stall is more likely on its own CPU than on another.
func (hs *hostState) stalled(a *account) uint64 {
	on := map[uint16]bool{}
	for _, o := range a.Rows {
		on[o.OutCPU], on[o.InCPU] = true, true
	}
	end := a.End()
	var v, until uint64
	// Stalls are shorter than this, so earlier ones cannot reach the episode.
	const longest = 10_000_000_000
	first := sort.Search(len(hs.stalls), func(i int) bool { return hs.stalls[i].Start+longest >= a.Start })
	for _, st := range hs.stalls[first:] {
		if st.Start >= end {
			break
		}
		if len(on) > 0 && !on[st.CPU] {
			continue
		}
		from, to := max(st.Start, a.Start, until), min(st.Start+st.Duration, end)
		if from < to {
			v += to - from
			until = to
		}
	}
	return v
}

func sorted(stalls []event.Stall) []event.Stall {
	stalls = slices.Clone(stalls)
	slices.SortFunc(stalls, func(a, b event.Stall) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.CPU, b.CPU), cmp.Compare(a.Duration, b.Duration))
	})
	return stalls
}

// stealShare returns the share of the CPUs' busy time in the window that the hypervisor took.
func (hs *hostState) stealShare() float64 {
	var busy, stolen float64
	for _, n := range hs.in.Snapshots {
		busy += n.CPUPct
		stolen += n.StealPct
	}
	if busy == 0 {
		return 0
	}
	return min(1, stolen/busy)
}

// A hypervisor also takes CPU time from threads that others wait for, which makes these waits
// longer. In healthy training, 2.1 to 3.3 % contention by the program's own threads was reported
// where the hypervisor took 24 %, and less than 2 % where it took nothing. So
// the limit from which contention is reported rises by this share of the hypervisor's share.
const stolenDoubt = 0.15

// minStolen is the least share of the CPUs' busy time taken by the hypervisor that the report
// mentions.
const minStolen = 0.1

// stolenNote says how much the hypervisor took, if it is at least minStolen.
func (hs *hostState) stolenNote() (list []string) {
	v := hs.stealShare()
	if v < minStolen {
		return nil
	}
	const words = "the hypervisor took %.0f %% of the time in which this machine's CPUs had work: everything on it " +
		"was slower for that, and waits for a CPU of less than %.1f %% of a thread's time may be caused by it " +
		"(steal_pct in system_snapshots)"
	return []string{fmt.Sprintf(words, 100*v, minPct+100*stolenDoubt*v)}
}
