package accuracy

import (
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
)

// fault is a fault of the stand-in program and what is expected of its diagnosis.
type fault struct {
	Expect
	pinned bool    // needs to know the dispatching thread's CPU
	cold   bool    // happens at the start, without a healthy time before
	least  float64 // least length of the run in seconds; 0: any
	lasts  bool    // no fix removes it on a small machine: there is no run without it to compare with
	args   func(*draw, Magnitude) []string
}

// faults are all faults of "victim loop --fault", ordered by cause.
var faults = []fault{
	{Expect: Expect{"cpu-hog", kinds(event.CauseCPUContention), Culprit, "running", false}, pinned: true, args: hogs},
	{Expect: Expect{"sibling-hog", kinds(event.CauseCPUContention), Culprit, "running", false}, pinned: true, args: hogs},
	// The worker has too little of its CPU. Both starvation and contention are right, as long as
	// the hog is named.
	{
		Expect: Expect{"loader-hog", kinds(event.CauseCPUContention, event.CauseInputStarvation), Culprit, "running", true},
		pinned: true, args: workerHogs,
	},
	// Four workers take each other's CPU: any of them may be named.
	{
		Expect: Expect{"loader-crowd", kinds(event.CauseCPUContention, event.CauseInputStarvation), Culprit, "running", true},
		pinned: true, lasts: true, args: crowds,
	},
	{Expect: Expect{"throttle", kinds(event.CauseCPUThrottled), Victim, "throttled", false}, args: quota},

	{Expect: Expect{"lock", kinds(event.CauseLockContention), Culprit, "running", true}, args: periodic},
	{Expect: Expect{"pi-lock", kinds(event.CauseLockContention), Culprit, "running", true}, args: periodic},
	{Expect: Expect{"cond", kinds(event.CauseLockContention), Culprit, "running", true}, args: periodic},
	{Expect: Expect{"gil", kinds(event.CauseLockContention), Culprit, "running", true}, args: periodic},

	{Expect: Expect{"own-io", kinds(event.CauseBlockIO), Victim, "blocked", true}, args: periodic},
	{Expect: Expect{"read-io", kinds(event.CauseBlockIO), Victim, "blocked", true}, args: periodic},
	{Expect: Expect{"mmap-io", kinds(event.CauseBlockIO), Victim, "blocked", true}, args: periodic},
	{Expect: Expect{"lock-io", kinds(event.CauseBlockIO), Culprit, "blocked", true}, args: periodic},
	{Expect: Expect{"loader-io", kinds(event.CauseBlockIO), Culprit, "blocked", true}, args: ahead},
	{Expect: Expect{"mem-pressure", kinds(event.CauseMemoryPressure), Victim, "", true}, args: periodic},

	{Expect: Expect{"peer-pipe", kinds(event.CausePeerWait), Culprit, "running", true}, args: periodic},
	{Expect: Expect{"peer-unix", kinds(event.CausePeerWait), Culprit, "running", true}, args: periodic},
	{Expect: Expect{"peer-tcp", kinds(event.CausePeerWait), Culprit, "running", true}, args: periodic},
	{Expect: Expect{"loader-cpu", kinds(event.CauseInputStarvation), Culprit, "running", true}, args: ahead},

	{Expect: Expect{"gpu", kinds(event.CauseGPUWait), Victim, "blocked", true}, args: periodic},
	{Expect: Expect{"gpu-trend", kinds(event.CauseGPUWait), Victim, "blocked", true}, args: growing},
	{Expect: Expect{"gpu-peer", kinds(event.CauseGPUContention), Culprit, "", true}, args: bursts},
	{Expect: Expect{"driver-cpu", kinds(event.CauseDriverCPU), Victim, "running", true}, args: periodic},
	{Expect: Expect{"cold", kinds(event.CauseColdStart), Victim, "running", true}, cold: true, args: firstCall},
	{Expect: Expect{"pageable", kinds(event.CausePageableCopy), Victim, "", true}, args: copies},
	{Expect: Expect{"alloc-churn", kinds(event.CauseAllocChurn), Victim, "", true}, args: everyStep},
	{Expect: Expect{"leak", kinds(event.CauseMemoryLeak), Victim, "", false}, least: 15, args: everyStep},
	{Expect: Expect{"implicit-sync", kinds(event.CauseImplicitSync), Victim, "", true}, args: everyStep},
	{Expect: Expect{"graph-recapture", kinds(event.CauseGraphRecapture), Victim, "", true}, args: periodic},
	{Expect: Expect{"launch-bound", kinds(event.CauseLaunchBound), Victim, "", true}, args: shortSteps},
}

// pairs are two faults at once, in different places of the program.
var pairs = [][2]string{
	{"lock", "gpu"},
	{"lock-io", "driver-cpu"},
	{"cpu-hog", "gpu"},
	{"own-io", "gpu"},
	{"peer-pipe", "own-io"},
	{"loader-cpu", "lock"},
}

func kinds(k ...string) []string { return k }

// periodic draws a fault that lasts some ms and comes again and again.
func periodic(d *draw, m Magnitude) []string { return lasting(d, m, 0) }

// ahead draws a periodic fault of a data worker. The worker is ahead by some 4 ms of work, which
// the pipe holds: a shorter delay is hidden.
func ahead(d *draw, m Magnitude) []string { return lasting(d, m, 4) }

// lasting draws a periodic fault whose first ms (hidden) delay nothing.
func lasting(d *draw, m Magnitude, hidden int) []string {
	lasts := ranges{Small: {6, 10}, Medium: {15, 30}, Large: {40, 80}}
	every := ranges{Small: {60, 90}, Medium: {100, 160}, Large: {160, 220}}
	return arguments("--fault-ms", d.of(lasts, m)+hidden, "--period-ms", d.of(every, m))
}

// hogs draws how many threads spin on the victim's CPU, and for how much of the time.
func hogs(d *draw, m Magnitude) []string {
	n := map[Magnitude]int{Small: 1, Medium: 2, Large: 4}
	return arguments("--hogs", n[m], "--duty", d.between(60, 100), "--period-ms", d.between(60, 200))
}

// workerHogs draws more hogs, because a data worker works ahead.
func workerHogs(d *draw, m Magnitude) []string {
	n := ranges{Small: {2, 2}, Medium: {3, 3}, Large: {4, 6}}
	return arguments("--hogs", d.of(n, m), "--duty", d.between(80, 100), "--period-ms", d.between(60, 200))
}

// crowds draws the CPU time of a batch for workers that share a CPU (one batch a step), and the
// duration of a step otherwise, which is some 0.65 ms more than the host's own work.
func crowds(d *draw, m Magnitude) []string {
	pct := ranges{Small: {84, 88}, Medium: {74, 78}, Large: {60, 66}}
	ms := d.between(4, 6)
	return arguments("--fault-ms", ms, "--host-us", 10*ms*d.of(pct, m)-650)
}

// growing draws by how much a wait for the device, of 2 ms at first, has grown at the end of the
// run.
func growing(d *draw, m Magnitude) []string {
	ms := ranges{Small: {1, 1}, Medium: {2, 4}, Large: {6, 12}}
	return arguments("--sync-us 2000 --fault-ms", d.of(ms, m))
}

// bursts draws for how much of the time the device is shared.
func bursts(d *draw, m Magnitude) []string {
	ms := ranges{Small: {30, 50}, Medium: {60, 90}, Large: {100, 140}}
	return arguments("--fault-ms", d.of(ms, m), "--period-ms", d.between(180, 220))
}

// copies draws how long a copy by the CPU takes. Longer copies would need more memory than a small
// machine has to spare.
func copies(d *draw, m Magnitude) []string {
	ms := ranges{Small: {5, 8}, Medium: {12, 20}, Large: {25, 40}}
	return arguments("--fault-ms", d.of(ms, m), "--period-ms", d.between(70, 120))
}

// everyStep is for faults with the same cost in every step: it draws how much else a step has to
// do.
func everyStep(d *draw, m Magnitude) []string {
	us := ranges{Small: {1500, 2500}, Medium: {500, 1000}, Large: {50, 200}}
	return arguments("--host-us", d.of(us, m))
}

// shortSteps is the same with less other work, because launches are to be most of the step.
func shortSteps(d *draw, m Magnitude) []string {
	us := ranges{Small: {500, 800}, Medium: {200, 400}, Large: {50, 150}}
	return arguments("--host-us", d.of(us, m))
}

// quota draws the share of a CPU that the victim is given in each of the scheduler's periods. The
// victim needs a third of a CPU.
func quota(d *draw, m Magnitude) []string {
	pct := ranges{Small: {22, 26}, Medium: {16, 20}, Large: {10, 14}}
	period := 50_000 * d.between(1, 2)
	return arguments("--quota-us", d.of(pct, m)*period/100, "--cfs-period-us", period)
}

// firstCall draws how long the first launch takes. Less than 0.1 s does not count as a stall.
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
	c.Args = append(arguments("--seconds", max(o.seconds(), f.least), "--fault", f.Fault), d.program(f.pinned)...)
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
