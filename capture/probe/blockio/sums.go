package blockio

import (
	"cmp"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/event"
)

const second = 1_000_000_000

// Sums appends what processes did at block devices in the seconds that are over at now, by second,
// and takes it out of the probe's map. With all, the second that has just begun is taken too: for
// the end, once nothing is attached any more. now is by CLOCK_MONOTONIC, in ns, and toUnix what to
// add to that for Unix time.
func Sums(c *ebpf.Collection, list []event.RequestSum, now, toUnix uint64, all bool) []event.RequestSum {
	m := c.Maps["request_sums"]
	var key bpf.WireRequestKey
	var sum bpf.WireRequestSum
	var over []bpf.WireRequestKey
	for i := m.Iterate(); i.Next(&key, &sum); {
		// A program that has read the clock may be about to add to the second before.
		if all || key.Second+1 < now/second {
			over = append(over, key)
		}
	}
	from := len(list)
	for _, k := range over {
		if err := m.LookupAndDelete(&k, &sum); err != nil {
			continue // told already: an iteration may show a key twice
		}
		list = append(list, event.RequestSum{
			At: k.Second*second + toUnix, PID: k.Tgid, Comm: bpf.Comm(&sum.Comm),
			Op: event.Op(k.Op), Device: event.Device(k.Dev),
			Requests: sum.Requests, Errors: sum.Errors, Bytes: sum.Bytes,
			QueueNS: sum.Queue, DeviceNS: sum.Device, MaxNS: sum.Max,
		})
	}
	slices.SortFunc(list[from:], func(a, b event.RequestSum) int {
		return cmp.Or(
			cmp.Compare(a.At, b.At), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Op, b.Op),
		)
	})
	return list
}
