package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// slowClock is the share of its highest clock below which a GPU that reports heat counts as slowed
// down.
const slowClock = 0.9

// thermal are the throttle reasons that mean heat.
const thermal = store.ThrottleSWThermal | store.ThrottleHWThermal

func hot(g *store.GPUSnapshot) bool {
	return g.Reasons&thermal != 0 && g.Known(store.GPUClock) && float64(g.ClockMHz) < slowClock*float64(g.MaxMHz)
}

var causeThermalThrottle = cause{
	kind:     event.CauseThermalThrottle,
	refine:   refineThermal,
	gpuSide:  true,
	describe: describeThermal,
	busyGPU:  true,
}

// refineThermal attributes the waits during which the GPU was too hot to heat, if there are few
// such waits while it was cool.
func refineThermal(ev *evidence, t *subject, claims []*claim) {
	var coolReadings, hotReadings float64
	list := ev.gpus.readings(t.PID, event.NoGPU)
	for i := range list {
		switch g := &list[i]; {
		case g.At < t.from || g.At >= t.to:
		case hot(g):
			hotReadings++
		default:
			coolReadings++
		}
	}
	if hotReadings == 0 || coolReadings == 0 {
		return
	}
	var within []*claim
	var in, out uint64
	for _, cl := range claims {
		if cl.acc.Call == nil {
			continue
		}
		g := ev.gpus.reading(t.PID, cl.acc.Call.GPU, cl.acc.Start)
		switch {
		case g == nil:
		case hot(g):
			within = append(within, cl)
			in += cl.lost
		default:
			out += cl.lost
		}
	}
	if float64(in)/hotReadings < minLift*float64(out)/coolReadings {
		return
	}
	for _, cl := range within {
		cl.key = key{kind: event.CauseThermalThrottle}
	}
}

func describeThermal(ev *evidence, f *finding, c *report.Chain) {
	e := c.Effect
	gpu, hottest, slowest, top, hw := 0, 0, 1<<30, 0, false
	for _, cl := range f.claims {
		g := ev.gpus.reading(f.sub.PID, cl.acc.Call.GPU, cl.acc.Start)
		if g == nil {
			continue
		}
		gpu, hottest, slowest, top = g.GPU, max(hottest, g.TempC), min(slowest, g.ClockMHz), max(top, g.MaxMHz)
		hw = hw || g.Reasons&store.ThrottleHWThermal != 0
	}
	kind := "software thermal slowdown (above the temperature it is to hold)"
	if hw {
		kind = "hardware thermal slowdown (far above the temperature it is to hold)"
	}
	c.Summary = fmt.Sprintf("%s lost %s waiting for the GPU in %s while GPU %d was too hot: %d °C, clock down to %d "+
		"of %d MHz",
		f.process(ev), f.pct(), e.Op, gpu, hottest, slowest, top)
	c.Cause.Detail = fmt.Sprintf("NVML read %s at the times of the slow calls, and not at others", kind)
	if others := ev.gpus.alsoRead(f); others != "" {
		c.Cause.Detail += "; it also read " + others
	}
	c.Path = []report.Step{
		f.step(ev, "blocked", "GPU work", f.lost),
		{
			Layer: "HOST", Process: fmt.Sprintf("GPU %d", gpu), State: "throttled",
			On: fmt.Sprintf("its temperature (%d °C)", hottest), NS: f.lost,
		},
	}
	c.Recommendations = []string{
		fmt.Sprintf("cool GPU %d: see to its fans, filters and inlet temperature: nvidia-smi -i %d -q -d "+
			"TEMPERATURE,PERFORMANCE", gpu, gpu),
		fmt.Sprintf("until then hold a clock it can keep, which is steadier than throttling: nvidia-smi -i %d -lgc 0,%d, "+
			"or a lower limit of power with -pl", gpu, slowest),
	}
}

// alsoRead names the throttle reasons other than heat that were read at the times of a finding.
func (gs *gpuReadings) alsoRead(f *finding) string {
	var reasons uint64
	for _, cl := range f.claims {
		if g := gs.reading(f.sub.PID, cl.acc.Call.GPU, cl.acc.Start); g != nil {
			reasons |= g.Reasons
		}
	}
	switch {
	case reasons&store.ThrottlePowerBrake != 0:
		return "a power brake"
	case reasons&store.ThrottlePowerCap != 0:
		return "the power limit"
	}
	return ""
}
