package agent

import (
	"maps"
	"slices"
	"time"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// hostIO finds names for numbers in records of disk and network: devices, files that threads waited
// for, and owners of sockets. New names go into the recording.
type hostIO struct {
	fs          proc.FS
	devices     map[event.Device]bool
	files       map[waitedFile]bool // looked up, found or not
	sockets     map[uint64]socketOwner
	owners      time.Time // when owners of sockets were looked for last
	ownersAsked int       // and the process that was looked at last
	usage       map[uint32]proc.Usage
	names       []event.DeviceName
	paths       []event.File
	lookups     int                  // in this drain
	asked       map[uint32][]uint64  // inodes of files to be looked for in this drain, by process
	mapped      map[uint32][]uint64  // those that no descriptor is open for: to be looked for among the mappings
	read        map[uint32]time.Time // when the mappings of a process were read last
}

type waitedFile struct {
	pid   uint32
	inode uint64
}

// Limits on /proc lookups in one drain, and on remembered results.
const (
	maxFileLookups = 16
	maxFiles       = 1 << 14
)

func newHostIO(fs proc.FS) *hostIO {
	return &hostIO{
		fs: fs, devices: map[event.Device]bool{}, files: map[waitedFile]bool{}, sockets: map[uint64]socketOwner{},
		usage: map[uint32]proc.Usage{}, asked: map[uint32][]uint64{}, mapped: map[uint32][]uint64{},
		read: map[uint32]time.Time{},
	}
}

func (h *hostIO) follower(s *shared) follower {
	return follower{
		start: func(b *beginning) {
			for pid := range s.targets.watched() {
				h.begin(pid, b.command != nil && pid == b.command.cmd.Process.Pid)
			}
		},
		life: func(l *event.Life) {
			if l.Kind == event.LifeFork && l.PID == l.TID {
				h.begin(int(l.PID), true)
			}
		},
		records: func(u *workItem) {
			h.observe(&u.records, s.targets.watched(), time.Now())
			h.take(&u.batch)
		},
		ended: func(ends []event.Life) {
			for pid := range processesOf(ends) {
				h.forget(pid)
			}
		},
		second: func(t *second) {
			b := &t.item.batch
			h.requests(s, b, t.last)
			b.HostMemory = h.second(b.HostMemory, s.targets.watched(), t.now)
		},
	}
}

// requests reads the block I/O of processes; last: also that of the last second.
func (h *hostIO) requests(s *shared, to *store.Batch, last bool) {
	var err error
	if to.RequestSums, err = s.tracer.Requests(to.RequestSums, last); err != nil {
		s.log.Warn("cannot read sums of block I/O", "err", err)
	}
	for i := range to.RequestSums {
		h.device(to.RequestSums[i].Device)
	}
	h.take(to)
}

// observe looks up the numbers in drained records while the objects still exist.
func (h *hostIO) observe(r *probe.Records, traced map[int]bool, now time.Time) {
	h.lookups = 0
	for i := range r.OffCPU {
		if o := &r.OffCPU[i]; o.Class == event.BlockIO && !o.Followed {
			h.file(o.PID, o.Inode)
		}
	}
	for i := range r.Requests {
		q := &r.Requests[i]
		h.device(q.Device)
		if traced[int(q.PID)] {
			h.file(q.PID, q.Inode)
		}
	}
	h.ownConnections(r.Connections, traced, now)
	h.find(now)
}

func (h *hostIO) device(d event.Device) {
	if h.devices[d] {
		return
	}
	h.devices[d] = true
	if n := proc.BlockDevice("", uint32(d>>20), uint32(d&(1<<20-1))); n != "" {
		h.names = append(h.names, event.DeviceName{Device: d, Name: n})
	}
}

func (h *hostIO) file(pid uint32, inode uint64) {
	k := waitedFile{pid, inode}
	if inode == 0 || h.files[k] || h.lookups >= maxFileLookups {
		return
	}
	if len(h.files) >= maxFiles {
		clear(h.files)
	}
	h.lookups++
	h.files[k] = true
	h.asked[pid] = append(h.asked[pid], inode)
}

// find looks for the files that are asked for: among the descriptors, which may be closed soon, at
// once, and among the mappings of each process only every refreshEach.
func (h *hostIO) find(now time.Time) {
	for pid, inodes := range h.asked {
		h.mapped[pid] = append(h.mapped[pid], h.named(pid, inodes, h.fs.OpenPaths(int(pid), inodes))...)
	}
	clear(h.asked)
	for pid, inodes := range h.mapped {
		switch {
		case len(inodes) == 0:
			delete(h.mapped, pid)
		case now.Sub(h.read[pid]) >= refreshEach:
			h.named(pid, inodes, h.fs.MappedPaths(int(pid), inodes))
			h.read[pid] = now
			delete(h.mapped, pid)
		}
	}
}

// named takes the names that were found, and returns the inodes without one.
func (h *hostIO) named(pid uint32, inodes []uint64, names map[uint64]string) (rest []uint64) {
	for _, i := range inodes {
		if p := names[i]; p != "" {
			h.paths = append(h.paths, event.File{PID: pid, Inode: i, Path: p})
		} else {
			rest = append(rest, i)
		}
	}
	return rest
}

// Limits on looking for owners of sockets: what goes wrong on connections of a process that accepted them comes without
// one, and a peer far away can make that happen as often as it likes.
const (
	ownersEach   = time.Second      // how often they are looked for
	ownersLooks  = 1 << 14          // descriptors that are looked at each time, some 2 us each
	ownerUnknown = 10 * time.Second // after which a socket of which none was found is looked for again
)

// socketOwner is the traced process that has a socket; 0 if none was found at that time.
type socketOwner struct {
	pid uint32
	at  time.Time
}

// ownConnections gives connections without a process that of their socket, among the traced ones.
func (h *hostIO) ownConnections(list []event.Connection, traced map[int]bool, now time.Time) {
	wanted := map[uint64]bool{}
	unowned := func(each func(c *event.Connection)) {
		for i := range list {
			if c := &list[i]; c.PID == 0 && c.Inode != 0 {
				each(c)
			}
		}
	}
	unowned(func(c *event.Connection) {
		if o, known := h.sockets[c.Inode]; !known || o.pid == 0 && now.Sub(o.at) >= ownerUnknown {
			wanted[c.Inode] = true
		}
	})
	if len(wanted) > 0 && now.Sub(h.owners) >= ownersEach {
		h.owners = now
		h.findOwners(wanted, traced, now)
	}
	unowned(func(c *event.Connection) {
		c.PID = h.sockets[c.Inode].pid
		c.TID = c.PID
	})
}

// findOwners looks through the descriptors of the processes, those first that were not reached the last time.
func (h *hostIO) findOwners(wanted map[uint64]bool, traced map[int]bool, now time.Time) {
	if len(h.sockets)+len(wanted) > maxFiles {
		clear(h.sockets)
	}
	for i := range wanted {
		h.sockets[i] = socketOwner{at: now}
	}
	left, found := ownersLooks, 0
	pids := slices.Sorted(maps.Keys(traced))
	next, _ := slices.BinarySearch(pids, h.ownersAsked+1)
	for _, pid := range slices.Concat(pids[next:], pids[:next]) {
		h.ownersAsked = pid
		open, looked := h.fs.Sockets(pid, wanted, left)
		for _, i := range open {
			h.sockets[i] = socketOwner{uint32(pid), now}
		}
		found += len(open)
		if left -= looked; left <= 0 || found >= len(wanted) {
			return
		}
	}
}

// take adds new names to a batch.
func (h *hostIO) take(to *store.Batch) {
	to.Devices, to.Files = append(to.Devices, h.names...), append(to.Files, h.paths...)
	h.names, h.paths = h.names[:0], h.paths[:0]
}

// begin notes what a process has used so far; nothing for a new process.
func (h *hostIO) begin(pid int, fresh bool) {
	var u proc.Usage
	if !fresh {
		var err error
		if u, err = h.fs.Usage(pid); err != nil {
			return // it ended
		}
	}
	h.usage[uint32(pid)] = u
}

// second appends each traced process's use of host memory since the last call.
func (h *hostIO) second(list []event.HostMemory, traced map[int]bool, now time.Time) []event.HostMemory {
	for pid := range traced {
		u, err := h.fs.Usage(pid)
		if err != nil {
			delete(h.usage, uint32(pid))
			continue // it ended
		}
		before, known := h.usage[uint32(pid)]
		h.usage[uint32(pid)] = u
		if !known || u.MinorFaults < before.MinorFaults { // the first reading, or a reused pid
			before = u
			before.RSS = 0 // so that its RSS gets a row
		}
		if u == before {
			continue
		}
		list = append(list, event.HostMemory{
			At: uint64(now.UnixNano()), PID: uint32(pid), MinorFaults: u.MinorFaults - before.MinorFaults,
			MajorFaults: u.MajorFaults - before.MajorFaults, RSS: u.RSS, Swap: u.Swap,
			Private: u.Private,
		})
	}
	for pid := range h.usage {
		if !traced[int(pid)] {
			delete(h.usage, pid)
		}
	}
	return list
}

// forget drops a process that ended; its pid may be used again.
func (h *hostIO) forget(pid uint32) {
	delete(h.usage, pid)
	delete(h.mapped, pid)
	delete(h.read, pid)
	for k := range h.files {
		if k.pid == pid {
			delete(h.files, k)
		}
	}
	for inode, o := range h.sockets {
		if o.pid == pid {
			delete(h.sockets, inode)
		}
	}
}
