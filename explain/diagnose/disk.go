package diagnose

import (
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// disk is what is known about the device whose requests a finding's time was lost to.
type disk struct {
	name      string
	own       event.RequestSum // of the process that waited
	other     uint32           // the other process that used it most, 0 if none
	otherName string
	otherNS   uint64

	otherRequests uint64
	kernel        event.RequestSum // of the kernel's own threads
}

// busy returns the time that requests spent in the queue and at the device, ns.
func busy(s *event.RequestSum) uint64 { return s.QueueNS + s.DeviceNS }

func addSum(to, s *event.RequestSum) {
	to.Requests += s.Requests
	to.Errors += s.Errors
	to.Bytes += s.Bytes
	to.QueueNS += s.QueueNS
	to.DeviceNS += s.DeviceNS
	to.MaxNS = max(to.MaxNS, s.MaxNS)
}

// diskOf finds the device that the process sent requests to while time was lost; nil if it sent none:
// the kernel may have written its data.
func diskOf(ev *evidence, f *finding) *disk {
	if len(ev.in.RequestSums) == 0 {
		return nil
	}
	within, pid := f.claims.seconds(), f.root().PID
	own := map[event.Device]*event.RequestSum{}
	others := map[event.Device]map[uint32]*event.RequestSum{}
	for i := range ev.in.RequestSums {
		q := &ev.in.RequestSums[i]
		if !within(q.At) {
			continue
		}
		if own[q.Device] == nil {
			own[q.Device] = &event.RequestSum{}
			others[q.Device] = map[uint32]*event.RequestSum{}
		}
		if q.PID == pid {
			addSum(own[q.Device], q)
			continue
		}
		o := others[q.Device][q.PID]
		if o == nil {
			o = &event.RequestSum{PID: q.PID}
			others[q.Device][q.PID] = o
		}
		o.Comm = max(o.Comm, q.Comm)
		addSum(o, q)
	}
	var best event.Device
	for d, o := range own {
		if o.Requests == 0 {
			continue
		}
		if best == 0 || busy(o) > busy(own[best]) || busy(o) == busy(own[best]) && d < best {
			best = d
		}
	}
	if best == 0 {
		return nil
	}
	d := &disk{name: ev.host.device(best), own: *own[best]}
	for _, o := range others[best] {
		if ev.procs.kernelThread(o.PID, o.Comm) {
			addSum(&d.kernel, o)
			continue
		}
		if busy(o) > d.otherNS || busy(o) == d.otherNS && o.PID < d.other {
			d.other, d.otherNS, d.otherRequests, d.otherName = o.PID, busy(o), o.Requests, ev.procs.name(o.PID, o.Comm)
		}
	}
	return d
}

// swapWords says what a process read back from swap while time was lost. It is empty if
// nothing was seen: swap to compressed memory makes no requests.
func (hs *hostState) swapWords(claims claimList, pid uint32) string {
	within := claims.seconds()
	var sum event.RequestSum
	for i := range hs.in.RequestSums {
		if q := &hs.in.RequestSums[i]; q.PID == pid && q.Op == event.OpSwapIn && within(q.At) {
			addSum(&sum, q)
			sum.Device = q.Device
		}
	}
	if sum.Requests == 0 {
		return ""
	}
	return fmt.Sprintf("; %s of it came back from %s in %s, %s each on average",
		report.Bytes(sum.Bytes), hs.device(sum.Device), plural(int(sum.Requests), "request", "requests"),
		span(busy(&sum)/sum.Requests))
}

// crowded reports whether another process used the device more than the one that waited.
func (d *disk) crowded() bool { return d.other != 0 && d.otherNS > busy(&d.own) }

// kernelThread reports whether a process is a kernel thread: its parent is kthreadd, whose PID is
// 2.
func (ps *processes) kernelThread(pid uint32, comm string) bool {
	return ps.parents[pid] == 2 || strings.HasPrefix(comm, "kworker/") || strings.HasPrefix(comm, "jbd2/")
}

func (hs *hostState) device(d event.Device) string {
	for _, n := range hs.in.Devices {
		if n.Device == d {
			return n.Name
		}
	}
	return "device " + d.String()
}

// words says how long the device took, and what else it did.
func (d *disk) words() string {
	n := d.own.Requests
	t := fmt.Sprintf("; %s of its requests to %s took %s on average, up to %s", report.Count(n), d.name,
		span(busy(&d.own)/n), span(d.own.MaxNS))
	if q := d.own.QueueNS; q > busy(&d.own)/2 {
		t += fmt.Sprintf(", %s of it before the device was given them", span(q/n))
	}
	if d.own.Errors > 0 {
		t += fmt.Sprintf("; %s failed", plural(int(d.own.Errors), "request", "requests"))
	}
	if k := &d.kernel; busy(k) > busy(&d.own) {
		t += fmt.Sprintf("; the kernel's own threads had %s requests there, which took %s together: flushes and the "+
			"journal, of its fsync too, and what was written earlier", report.Count(k.Requests), span(busy(k)))
	}
	if d.crowded() {
		t += fmt.Sprintf("; meanwhile %s had %s requests there, which took %s together", d.otherName,
			report.Count(d.otherRequests), span(d.otherNS))
	}
	return t
}

// path returns the path under which the process had the file open, empty if it is not known.
func (hs *hostState) path(pid uint32, inode uint64) string {
	if hs.paths == nil {
		hs.paths = map[event.File]string{}
		for _, f := range hs.in.Files {
			hs.paths[event.File{PID: f.PID, Inode: f.Inode}] = f.Path
		}
	}
	return hs.paths[event.File{PID: pid, Inode: inode}]
}
