package diagnose

import (
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// minNicer is the least difference in niceness that is reported: each step changes the CPU time by
// some 10 % (kernel/sched/core.c, sched_prio_to_weight).
const minNicer = 3

// scheduling returns a thread's scheduling policy; false if it was not recorded.
func (hs *hostState) scheduling(t event.Thread) (store.Scheduling, bool) {
	for _, q := range hs.in.Scheduling {
		if q.Thread == t {
			return q, true
		}
	}
	return store.Scheduling{}, false
}

// priority says why the scheduler prefers a culprit to the victim, and what would change that;
// empty if it treats them alike.
func (hs *hostState) priority(victim event.Thread, c *runner) (why, fix string) {
	q, ok := hs.scheduling(c.Thread)
	if !ok || c.PID == 0 {
		return "", ""
	}
	v, known := hs.scheduling(victim)
	if q.Policy.Realtime() && !v.Policy.Realtime() {
		at := ""
		if q.Realtime > 0 {
			at = fmt.Sprintf(" at priority %d", q.Realtime)
		}
		return fmt.Sprintf("%s runs under %s%s: it runs before every ordinary thread", c.name, q.Policy, at),
			fmt.Sprintf("make %s an ordinary process: chrt -a -o -p 0 %d", c.name, c.PID)
	}
	if known && !q.Policy.Realtime() && int(v.Nice)-int(q.Nice) >= minNicer {
		return fmt.Sprintf("%s is at nice %d, the waiting thread at nice %d", c.name, q.Nice, v.Nice),
			fmt.Sprintf("give %s a lower priority: renice -n %d -p %d", c.name, min(19, int(v.Nice)+10), c.PID)
	}
	return "", ""
}

// nodeOf returns the memory node of a CPU, -1 if there is only one or the CPU is in none.
func (hs *hostState) nodeOf(cpu uint16) int {
	for node, list := range hs.in.Nodes {
		if slices.Contains(parseCPUs(list), cpu) {
			return node
		}
	}
	return -1
}
