package diagnose

import (
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

// doing is what the thread at the root of the waits did during them.
type doing struct{ ledger.Split }

func (l claimList) doing() doing {
	var d doing
	for _, cl := range l {
		if l := cl.last(); l.Known {
			d.Add(&l.Split)
		}
	}
	return d
}

// computed reports whether it mostly ran on a CPU.
func (d doing) computed() bool { return share(d.OnCPU, d.Wall) >= half }

// short continues "which was".
func (d doing) short(computing string) string {
	switch {
	case d.Wall == 0:
		return "not accounted for"
	case d.computed():
		return computing
	case d.Largest() == event.Sleep:
		return "asleep"
	}
	return "held up itself"
}

// doingWords describe the classes of time as verbs of a thread.
var doingWords = [event.NumClasses + 1]string{
	event.OnCPU: "ran", event.RunQueue: "waited for a CPU", event.Throttled: "was throttled",
	event.Futex:   "waited for locks",
	event.BlockIO: "waited for the disk", event.Fault: "waited in page faults", event.Network: "waited for sockets",
	event.Pipe: "waited for pipes", event.Poll: "polled", event.Sleep: "slept", event.Ioctl: "waited for the GPU driver",
	event.Other: "waited",
}

// minDoing is the least share of the time for which a class is reported.
const minDoing = 0.1

// long describes what the thread did, in words that follow its name.
func (d doing) long() string {
	if d.Wall == 0 {
		return "what it did was not recorded"
	}
	if d.computed() && share(d.OnCPU, d.Wall) > 1-minDoing {
		return "ran on a CPU"
	}
	var parts []string
	for _, c := range append([]event.Class{event.OnCPU}, classes()...) {
		if v := d.Of(c); share(v, d.Wall) >= minDoing {
			parts = append(parts, fmt.Sprintf("%s %s", doingWords[c], span(v)))
		}
	}
	return strings.Join(parts, ", ")
}

func classes() (l []event.Class) {
	for c := range event.NumClasses {
		l = append(l, c)
	}
	return l
}

func (d doing) state() string {
	switch c := d.Largest(); {
	case d.Wall == 0:
		return "unknown"
	case c == event.OnCPU || d.computed():
		return "running"
	case c == event.RunQueue:
		return "runnable"
	}
	return "blocked"
}

func (d doing) on() string {
	if c := d.Largest(); d.Wall != 0 && c != event.OnCPU && !d.computed() {
		return c.String()
	}
	return "a CPU"
}
