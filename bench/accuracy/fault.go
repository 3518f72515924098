package accuracy

import (
	"slices"
	"strings"

	"github.com/ingero-io/ingero/diagnose"
)

// fault is a fault of the stand-in program and what is to be said of it.
type fault struct {
	Expect
	pinned bool // needs a CPU of its own
	cold   bool // happens at once, without a healthy time before
	args   func(*draw, Magnitude) []string
}

// faults are all that "victim loop --fault" knows, those with the same cause
// together.
var faults = []fault{
	{Expect: Expect{"cpu-hog", kinds(diagnose.CPUContention), Culprit, "running", false}, pinned: true, args: hogs},
	{Expect: Expect{"sibling-hog", kinds(diagnose.CPUContention), Culprit, "running", false}, pinned: true, args: hogs},
	// The worker is starved of its CPU. Whether that is called starvation or
	// contention is a matter of words, as long as the hog is named.
	{Expect: Expect{"loader-hog", kinds(diagnose.CPUContention, diagnose.InputStarvation), Culprit, "running", false}, pinned: true, args: hogs},
	{Expect: Expect{"throttle", kinds(diagnose.CPUThrottled), Victim, "throttled", false}, args: quota},

	{Expect: Expect{"lock", kinds(diagnose.LockContention), Culprit, "running", true}, args: periodic},
	{Expect: Expect{"pi-lock", kinds(diagnose.LockContention), Culprit, "running", true}, args: periodic},
	{Expect: Expect{"cond", kinds(diagnose.LockContention), Culprit, "running", true}, args: periodic},
	{Expect: Expect{"gil", kinds(diagnose.LockContention), Culprit, "running", true}, args: periodic},

	{Expect: Expect{"own-io", kinds(diagnose.BlockIO), Victim, "blocked", true}, args: periodic},
	{Expect: Expect{"read-io", kinds(diagnose.BlockIO), Victim, "blocked", true}, args: periodic},
	{Expect: Expect{"mmap-io", kinds(diagnose.BlockIO), Victim, "blocked", true}, args: periodic},
	{Expect: Expect{"lock-io", kinds(diagnose.BlockIO), Culprit, "blocked", true}, args: periodic},
	{Expect: Expect{"loader-io", kinds(diagnose.BlockIO), Culprit, "blocked", true}, args: periodic},
	{Expect: Expect{"mem-pressure", kinds(diagnose.MemoryPressure), Victim, "", false}, args: periodic},

	{Expect: Expect{"peer-pipe", kinds(diagnose.PeerWait), Culprit, "running", true}, args: periodic},
	{Expect: Expect{"peer-unix", kinds(diagnose.PeerWait), Culprit, "running", true}, args: periodic},
	{Expect: Expect{"peer-tcp", kinds(diagnose.PeerWait), Culprit, "running", true}, args: periodic},
	{Expect: Expect{"loader-cpu", kinds(diagnose.InputStarvation), Culprit, "running", true}, args: periodic},

	{Expect: Expect{"gpu", kinds(diagnose.GPUWait), Victim, "blocked", true}, args: periodic},
	{Expect: Expect{"gpu-trend", kinds(diagnose.GPUWait), Victim, "blocked", false}, args: periodic},
	{Expect: Expect{"gpu-peer", kinds(diagnose.GPUContention), Culprit, "", false}, args: periodic},
	{Expect: Expect{"driver-cpu", kinds(diagnose.DriverCPU), Victim, "running", true}, args: periodic},
	{Expect: Expect{"cold", kinds(diagnose.ColdStart), Victim, "running", true}, cold: true, args: firstCall},
	{Expect: Expect{"pageable", kinds(diagnose.PageableCopy), Victim, "", true}, args: periodic},
	{Expect: Expect{"alloc-churn", kinds(diagnose.AllocChurn), Victim, "", false}, args: periodic},
	{Expect: Expect{"leak", kinds(diagnose.MemoryLeak), Victim, "", false}, args: periodic},
	{Expect: Expect{"implicit-sync", kinds(diagnose.ImplicitSync), Victim, "", false}, args: periodic},
	{Expect: Expect{"graph-recapture", kinds(diagnose.GraphRecapture), Victim, "", false}, args: periodic},
	{Expect: Expect{"launch-bound", kinds(diagnose.LaunchBound), Victim, "", false}, args: periodic},
}

// pairs are two faults at once. The second names nobody but the victim, so that
// the program's truth still names the culprit of the first.
var pairs = [][2]string{{"lock", "gpu"}, {"lock-io", "driver-cpu"}, {"cpu-hog", "gpu"}, {"own-io", "gpu"}, {"peer-pipe", "gpu"}}

func kinds(k ...string) []string { return k }

// periodic draws a fault that lasts some ms and returns.
func periodic(d *draw, m Magnitude) []string {
	lasts := ranges{Small: {6, 10}, Medium: {15, 30}, Large: {40, 80}}
	every := ranges{Small: {60, 90}, Medium: {100, 160}, Large: {160, 220}}
	return arguments("--fault-ms", d.of(lasts, m), "--period-ms", d.of(every, m))
}

// hogs draws how many threads spin beside the victim, and for how much of the time.
func hogs(d *draw, m Magnitude) []string {
	n := map[Magnitude]string{Small: "1", Medium: "2", Large: "4"}
	return arguments("--hogs", n[m], "--duty", d.between(50, 100), "--period-ms", d.between(60, 200))
}

// quota draws the share of a CPU that the victim, which wants a third of one, is
// given in each of the scheduler's periods.
func quota(d *draw, m Magnitude) []string {
	pct := ranges{Small: {22, 26}, Medium: {16, 20}, Large: {10, 14}}
	period := 50_000 * d.between(1, 2)
	return arguments("--quota-us", d.of(pct, m)*period/100, "--cfs-period-us", period)
}

// firstCall draws how long the first launch takes. Less than 0.1 s is no stall.
func firstCall(d *draw, m Magnitude) []string {
	ms := ranges{Small: {150, 250}, Medium: {300, 500}, Large: {700, 1200}}
	return arguments("--fault-ms", d.of(ms, m))
}

func findFault(name string) *fault {
	i := slices.IndexFunc(faults, func(f fault) bool { return f.Fault == name })
	return &faults[i]
}

// draw makes the case of a fault in a magnitude, or of two at once.
func (f *fault) draw(o *Options, m Magnitude, also ...string) Case {
	name := strings.Join(append([]string{f.Fault}, also...), " and ")
	d := newDraw(o.Seed, name+" "+string(m), o.CPUs, o.Quick)
	c := Case{Name: name, Magnitude: m, Expect: []Expect{f.Expect}, needs: 1}
	c.Args = append(arguments("--seconds", o.seconds(), "--fault", f.Fault), d.program(f.pinned)...)
	if f.cold {
		c.Args = append(c.Args, "--start-after", "0")
	} else {
		c.Args = append(c.Args, d.healthy()...)
	}
	c.Args = append(c.Args, f.args(d, m)...)
	for _, a := range also {
		c.Args = append(c.Args, "--also", a)
		c.Expect = append(c.Expect, findFault(a).Expect)
	}
	return c
}
