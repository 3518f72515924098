package agent

import (
	"reflect"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
)

// innerRun feeds an innerCalls by seconds.
type innerRun struct {
	t   *testing.T
	x   *innerCalls
	now time.Time
}

func newInnerRun(t *testing.T, group func(uint32) int) *innerRun {
	return &innerRun{t, newInnerCalls(group), time.Unix(1000, 0)}
}

func oneGroup(uint32) int { return 0 }

func launches(group int, on bool) change { return change{innerGroupKey{group, event.RoleLaunch}, on} }

func opCall(pid uint32, name string, start, dur uint64, depth uint8) event.Call {
	i, ok := event.ByName(name)
	if !ok {
		panic(name)
	}
	return event.Call{Thread: event.Thread{PID: pid, TID: pid}, Op: i.Op, Start: start, Duration: dur, Depth: depth}
}

// nested makes launches of the driver, each within a call.
func nested(pid uint32, outer string, n int) (calls []event.Call) {
	for i := range n {
		at := uint64(i) * 10
		calls = append(calls, opCall(pid, "cuLaunchKernel", at+1, 1, 1), opCall(pid, outer, at, 5, 0))
	}
	return calls
}

func bare(pid uint32) []event.Call { return []event.Call{opCall(pid, "cuLaunchKernel", 1, 1, 0)} }

// second is one of the run's, in which these calls are made.
func (r *innerRun) second(calls []event.Call, want ...change) {
	r.t.Helper()
	r.x.calls(calls)
	r.now = r.now.Add(time.Second)
	if got := r.x.second(r.now, time.Second); !reflect.DeepEqual(got, want) {
		r.t.Errorf("after %v: %v, want %v", r.now.Sub(time.Unix(1000, 0)), got, want)
	}
}

func (r *innerRun) check(after time.Duration, want ...change) {
	r.t.Helper()
	r.now = r.now.Add(after)
	got := r.x.check(r.now)
	if !reflect.DeepEqual(got, want) {
		r.t.Errorf("after %v: %v, want %v", r.now.Sub(time.Unix(1000, 0)), got, want)
	}
	for _, c := range got {
		r.x.turned(c, r.now)
	}
}

// off brings a process's group to where its probes are off.
func (r *innerRun) off(pid uint32) {
	r.t.Helper()
	k := launches(r.x.group(pid), false)
	r.second(nested(pid, "cudaLaunchKernel", innerRate))
	r.second(nested(pid, "cudaLaunchKernel", innerRate), k)
	r.x.turned(k, r.now)
}

func TestDriverLaunchesWithinTheRuntimesNeedNoProbe(t *testing.T) {
	for outer, want := range map[string]bool{
		"cudaLaunchKernel": true, "cudaGraphLaunch": true, "cudaMemsetAsync": true,
		"ncclAllReduce": false, "cuStreamSynchronize": false,
	} {
		r := newInnerRun(t, oneGroup)
		var off []change
		if want {
			off = []change{launches(0, false)}
		}
		r.second(nested(1, outer, innerRate))
		r.second(nested(1, outer, innerRate), off...)
	}
}

func TestFewLaunchesAreAllCounted(t *testing.T) {
	r := newInnerRun(t, oneGroup)
	for range 10 {
		r.second(nested(1, "cudaLaunchKernel", innerRate-1))
	}
}

func TestAProcessThatLaunchesByTheDriverAloneKeepsTheProbe(t *testing.T) {
	r := newInnerRun(t, oneGroup)
	r.second(nested(1, "cudaLaunchKernel", innerRate))
	r.second(append(nested(1, "cudaLaunchKernel", innerRate), bare(1)...))
	for range 100 {
		r.second(nested(1, "cudaLaunchKernel", innerRate))
	}
}

// Until all libraries have their probes, a launch of the runtime may look like one of the driver.
func TestTheFirstSecondOfAProcessDecidesNothing(t *testing.T) {
	r := newInnerRun(t, oneGroup)
	r.second(append(bare(1), nested(1, "cudaLaunchKernel", innerRate)...))
	r.off(1)
}

func TestOneProcessKeepsTheProbeOfAllWhoShareIt(t *testing.T) {
	r := newInnerRun(t, oneGroup)
	r.second(nil)
	r.second(bare(2))
	for range 5 {
		r.second(append(bare(2), nested(1, "cudaLaunchKernel", innerRate)...))
	}
	r.x.ended([]event.Life{{Kind: event.LifeExit, Thread: event.Thread{PID: 2, TID: 2}}})
	r.off(1)

	r = newInnerRun(t, func(pid uint32) int { return int(pid) })
	r.second(bare(2))
	r.second(append(bare(2), nested(1, "cudaLaunchKernel", innerRate)...))
	r.second(append(bare(2), nested(1, "cudaLaunchKernel", innerRate)...), launches(1, false))
}

// The end of a process is read before its last calls, which may be by the driver alone.
func TestLastCallsOfTheDriverDoNotOutliveTheirProcess(t *testing.T) {
	r := newInnerRun(t, oneGroup)
	r.second(nil)
	r.second(bare(2))
	exit := []event.Life{{Kind: event.LifeExit, Thread: event.Thread{PID: 2, TID: 2}}}
	r.x.lives(exit)
	r.x.calls(bare(2))
	r.x.ended(exit)
	if len(r.x.procs) != 0 {
		t.Errorf("%d processes are known, which all ended", len(r.x.procs))
	}
	r.off(1)
}

func TestTheProbeIsReattachedForAWhileToCheck(t *testing.T) {
	r := newInnerRun(t, oneGroup)
	r.off(1)
	r.second(nested(1, "cudaLaunchKernel", 0))
	r.check(checkEvery-2*time.Second, nil...)
	r.check(time.Second, launches(0, true))
	r.x.calls(nested(1, "cudaLaunchKernel", innerRate/10))
	r.check(checkFor/2, nil...)
	r.check(checkFor/2, launches(0, false))
	r.check(checkEvery, launches(0, true))
	r.x.calls(append(nested(1, "cudaLaunchKernel", innerRate/10), bare(1)...))
	r.check(checkFor, nil...)
	for range 100 {
		r.second(nested(1, "cudaLaunchKernel", innerRate))
	}
}

func TestTheProbeIsReattachedForANewThread(t *testing.T) {
	r := newInnerRun(t, oneGroup)
	r.off(1)
	r.x.lives([]event.Life{{Kind: event.LifeFirst, Thread: event.Thread{PID: 2, TID: 2}}})
	r.check(0, launches(0, true))
	r.check(checkFor, nil...) // no short look
	r.second(nested(1, "cudaLaunchKernel", innerRate))
	r.off(1)
}

func TestTheProbeIsReattachedWhenLaunchingStops(t *testing.T) {
	r := newInnerRun(t, oneGroup)
	r.off(1)
	r.check(checkEvery, launches(0, true))
	r.check(checkFor, nil...)
	r.off(1) // once it launches again
}

func TestTheTimeWithoutTheProbeIsCountedOnce(t *testing.T) {
	r := newInnerRun(t, func(pid uint32) int { return int(pid) })
	for range 2 {
		r.x.calls(nested(2, "cudaLaunchKernel", innerRate))
		r.x.calls(nested(1, "cudaLaunchKernel", innerRate))
		r.now = r.now.Add(time.Second)
		for _, c := range r.x.second(r.now, time.Second) {
			r.x.turned(c, r.now)
		}
	}
	if d := r.x.missing(r.now); d != 0 {
		t.Errorf("%v before it was taken off", d)
	}
	if d := r.x.missing(r.now.Add(3 * time.Second)); d != 3*time.Second {
		t.Errorf("%v, want 3s", d)
	}
	for _, pid := range []uint32{1, 2} {
		r.x.ended([]event.Life{{Kind: event.LifeExit, Thread: event.Thread{PID: pid, TID: pid}}})
	}
	if d := r.x.missing(r.now.Add(4*time.Second)) + r.x.missing(r.now.Add(9*time.Second)); d != 8*time.Second {
		t.Errorf("%v in all, want 4s and 4s", d)
	}
}

// A launch of the driver whose call around it was not recorded is within none that is known.
func TestALaunchIsNotAttributedToALaterCall(t *testing.T) {
	r := newInnerRun(t, oneGroup)
	r.x.calls([]event.Call{
		opCall(1, "cuLaunchKernel", 10, 1, 1), opCall(1, "cudaLaunchKernel", 20, 5, 0),
		opCall(1, "cuLaunchKernel", 31, 1, 2), opCall(1, "cuLaunchKernelEx", 30, 3, 1),
		opCall(1, "cudaLaunchKernel", 29, 5, 0),
	})
	if p := r.x.procs[innerProcessKey{1, event.RoleLaunch}]; p.nested != 1 || p.bare != 0 {
		t.Errorf("%d nested, %d alone, want 1 and 0", p.nested, p.bare)
	}
}

// What is within another call of the runtime, or by the driver alone, is asked for each role.
func TestWaitsAndCopiesAreJudgedSeparately(t *testing.T) {
	r := newInnerRun(t, oneGroup)
	var calls []event.Call
	for i := range innerRate {
		at := uint64(i) * 10
		calls = append(calls,
			opCall(1, "cuLaunchKernel", at, 1, 0), // by the driver alone
			opCall(1, "cuMemcpyHtoDAsync", at+2, 1, 1), opCall(1, "cuStreamSynchronize", at+4, 1, 1),
			opCall(1, "cudaMemcpy", at+1, 5, 0))
	}
	r.x.calls(calls)
	_ = r.x.second(r.now, time.Second)
	r.x.calls(calls)
	got := map[change]bool{}
	for _, c := range r.x.second(r.now, time.Second) {
		got[c] = true
	}
	want := map[change]bool{
		{innerGroupKey{0, event.RoleCopy}, false}: true,
		{innerGroupKey{0, event.RoleSync}, false}: true,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
