package diagnose

import "github.com/ingero-io/ingero/event"

// states is a set of classes of a thread's time. A cause declares in which states the time may be that it claims: an
// account gives it no other, whatever the call is named.
type states uint16

func only(classes ...event.Class) (s states) {
	for _, c := range classes {
		s |= 1 << c
	}
	return s
}

func (s states) has(c event.Class) bool { return s&(1<<c) != 0 }

// The sets that causes share.
var (
	// blocked is all waiting but for a CPU: a cause at the end of a chain of waits may be behind any of it.
	blocked = only(event.Futex, event.BlockIO, event.Fault, event.Network, event.Pipe, event.Poll, event.Sleep,
		event.Ioctl, event.Other)
	waitsOnGPU = only(soft...) // as drivers wait
	onCPU      = only(event.OnCPU)
	anyState   = blocked | onCPU | only(event.RunQueue, event.Throttled)
)
