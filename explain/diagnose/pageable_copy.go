package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// How fast copies are, in bytes per ns, that is in GB/s. Pageable memory goes through the driver's
// page-locked buffer, by one core's memcpy: published recordings show 5 to 12 GB/s. A bus carries
// 12 GB/s (PCIe 3.0 x16) or 25 (4.0): a blocking copy of page-locked memory may spin that long,
// too. Memory that was not touched lately is copied far more slowly. Then the only proof is that
// copies of different sizes take time in proportion.
const (
	leastStaged = 0.2
	minStaged   = 2.0
	coldStaged  = 0.5 // for copies of coldBytes: nothing else uses the CPU for so long
	coldBytes   = 8 << 20
	maxStaged   = 30.0
	maxBlocking = 9.0
	busRate     = 25.0
	// spread is the largest ratio of a copy's rate to the usual one of its kind, either way.
	spread = 3.0
	// returnNS is how long an asynchronous copy of page-locked memory takes to return, ns.
	returnNS = 10_000
	// maxAsleep is the largest share of a copy that a thread which copies itself may be off the
	// CPU, without waits that have causes of their own.
	maxAsleep = 0.1
)

// The values of cudaMemcpyKind with the host on one side; with 4 (cudaMemcpyDefault) the driver
// finds out.
var hostKinds = map[uint64]bool{1: true, 2: true, 4: true}

// hostCopy returns the size of a large copy between host and device in bytes, 0 for any other call.
func hostCopy(c *event.Call) uint64 {
	if !store.IsBulkCopy(c) {
		return 0
	}
	i := c.Op.Info()
	switch i.Shape {
	case event.ShapeCopy, event.ShapeCopy2D:
		if !hostKinds[c.Args[1]] {
			return 0
		}
	case event.ShapeCuCopy:
		if strings.Contains(i.Name, "DtoD") {
			return 0
		}
	default:
		return 0
	}
	return c.Args[i.BytesArg()]
}

// copying returns how long a call that copies was on a CPU, ns. It is false if the call mostly slept, as
// it does while it waits for the GPU.
func copying(split *ledger.Split) (uint64, bool) {
	var asleep uint64
	for _, c := range soft {
		asleep += split.NS[c]
	}
	return split.OnCPU, float64(asleep) <= maxAsleep*float64(asleep+split.OnCPU)
}

// stagedRate returns the rate of a copy if the CPU made it, bytes per ns; false if the CPU cannot have
// made it.
func stagedRate(c *event.Call, split *ledger.Split) (float64, bool) {
	on, awake := copying(split)
	bytes := hostCopy(c)
	if bytes == 0 || on == 0 || !awake {
		return 0, false
	}
	rate, most := float64(bytes)/float64(on), maxStaged
	if !asynchronous(c.Op) {
		most = maxBlocking
	}
	return rate, rate >= leastStaged && rate <= most
}

// toDevice reports whether a copy certainly reads from the host. A copy to the host first spins
// until the data is ready.
func toDevice(c *event.Call) bool {
	i := c.Op.Info()
	if i.Shape == event.ShapeCuCopy {
		return strings.Contains(i.Name, "HtoD")
	}
	return c.Args[1] == 1
}

// readStaged finds the operations of each thread that copy pageable memory: most of their bytes to
// the device took the time of a copy by the CPU, or copies of different sizes took time in
// proportion. A few copies that spin for another reason, among many of the same size that return at
// once, are not enough.
func (ev *evidence) readStaged() {
	type copies struct {
		bytes, ns []float64
		there     float64 // bytes that were certainly copied to the device
	}
	by := map[threadOp]*copies{}
	for i := range ev.in.Calls {
		c := &ev.in.Calls[i]
		split := ledger.SplitOf(c.Duration, &c.Ledger)
		_, ok := stagedRate(c, &split)
		if c.Depth > 0 || !ok {
			continue
		}
		k := threadOp{c.Thread, c.Op}
		if by[k] == nil {
			by[k] = &copies{}
		}
		by[k].bytes = append(by[k].bytes, float64(hostCopy(c)))
		by[k].ns = append(by[k].ns, float64(split.OnCPU))
		if toDevice(c) {
			by[k].there += float64(hostCopy(c))
		}
	}
	ev.calls.staged = map[threadOp]float64{}
	for k, l := range by {
		all := 0.0
		if st := ev.calls.stats[k]; st != nil {
			all = float64(st.Bytes)
		}
		most := l.there >= half*all
		sized := len(l.bytes) >= minSample && slices.Max(l.bytes) >= 2*slices.Min(l.bytes) && goTogether(l.bytes, l.ns)
		rate := sum(l.bytes) / sum(l.ns) // over the time, so that many fast copies do not hide slow ones
		large := rate >= coldStaged && stats.Middle(l.bytes) >= coldBytes
		if sized || most && (rate >= minStaged || large) {
			ev.calls.staged[k] = rate
		}
	}
}

var causePageableCopy = cause{
	kind:         event.CausePageableCopy,
	takes:        onCPU,
	claimEpisode: claimPageable,
	complete:     func(_ *evidence, f *finding) { f.stall = backToBack(f.claims) },
	describe:     describePageable,
}

// claimPageable takes the time in which a copy to or from pageable memory used the CPU: for an
// asynchronous copy all but the time of a call that returns at once; for a blocking copy all but
// the time that the bus needs.
func claimPageable(ev *evidence, a *account) []claim {
	if a.Call == nil || a.role != event.RoleCopy {
		return nil
	}
	usual, ok := ev.calls.staged[threadOp{a.Thread, a.Op}]
	if !ok {
		return nil
	}
	rate, ok := stagedRate(a.Call, &a.split)
	if !ok || rate < usual/spread || rate > usual*spread {
		return nil
	}
	free := uint64(returnNS)
	if !asynchronous(a.Op) {
		free = uint64(float64(hostCopy(a.Call)) / busRate)
	}
	v := a.whole(event.OnCPU, a.split.OnCPU-min(a.split.OnCPU, free))
	if v == 0 {
		return nil
	}
	a.left[event.OnCPU] = 0 // the rest is what the copy takes at best
	return []claim{{acc: a, key: key{kind: event.CausePageableCopy}, class: event.OnCPU, lost: v, explained: v, stall: v}}
}

func asynchronous(op event.Op) bool { return strings.Contains(op.String(), "Async") }

// backToBack returns the longest time lost in copies that directly follow one another, ns.
func backToBack(claims claimList) uint64 {
	list := slices.Clone(claims)
	slices.SortFunc(list, func(a, b *claim) int { return cmp.Compare(a.acc.Start, b.acc.Start) })
	var longest, run, end uint64
	for _, cl := range list {
		if cl.acc.Start > end+cl.acc.Duration/10 {
			run = 0
		}
		run += cl.lost
		end = cl.acc.End()
		longest = max(longest, run)
	}
	return longest
}

func describePageable(ev *evidence, f *finding, c *report.Chain) {
	var bytes, ns, least, most uint64
	kinds := map[uint64]bool{}
	for _, cl := range f.claims {
		n := hostCopy(cl.acc.Call)
		bytes, ns, most = bytes+n, ns+cl.acc.split.OnCPU, max(most, n)
		if least == 0 || n < least {
			least = n
		}
		if cl.acc.Op.Info().Shape != event.ShapeCuCopy {
			kinds[cl.acc.Call.Args[1]] = true
		}
	}
	op := c.Effect.Op
	sizes := report.Bytes(most)
	if least < most {
		sizes = report.Bytes(least) + " to " + sizes
	}
	rate := fmt.Sprintf("%.1f GB/s", float64(bytes)/float64(max(ns, 1)))
	c.Summary = fmt.Sprintf("%s lost %s copying pageable memory in %s: %s of %s, at %s on the CPU",
		f.process(ev), f.pct(), op, plural(len(f.claims), "copy", "copies"), sizes, rate)
	c.Cause.Detail = fmt.Sprintf("the thread itself copied %s in %s and did not sleep: memory that is not page-locked "+
		"goes through a buffer of the driver first", report.Bytes(bytes), span(ns))
	if asynchronous(f.claims.op().op) {
		c.Cause.Detail += fmt.Sprintf("; from page-locked memory %s returns in some %s, and the copy runs beside the CPU", op,
			span(returnNS))
	} else {
		c.Cause.Detail += fmt.Sprintf("; %s waits for the copy in any case: counted is what it took beyond %.0f GB/s", op,
			busRate)
	}
	c.Path = []report.Step{f.step(ev, "running", "copying pageable memory", f.lost)}
	then := adviceCopyIn
	if kinds[2] {
		then = adviceCopyOut
	}
	values := []string{"process", f.process(ev), "op", op, "sizes", sizes}
	c.Recommendations = slices.Concat(ev.procs.advise(f.sub.PID, values, advicePageLock),
		[]string{"allocate such buffers once and reuse them: page-locking is slow itself"},
		ev.procs.advise(f.sub.PID, nil, then))
}
