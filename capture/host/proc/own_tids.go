package proc

import (
	"strconv"
	"strings"
	"time"
)

// OwnTIDs translates thread ids that programs wrote into their memory, such as those in the words of locks. A program
// in a PID namespace of its own, as in a container, knows its threads by other ids than the host (pid_namespaces(7)).
// It is for one goroutine.
type OwnTIDs struct {
	fs        FS
	now       func() time.Time
	processes map[uint32]*ownTIDs
	second    time.Time // in which `left` threads may still be looked at
	left      int
}

// ownTIDs are the threads of one process.
type ownTIDs struct {
	nested bool
	host   map[uint32]uint32 // by id in its namespace
	read   time.Time         // when the threads were read last
	wait   time.Duration     // until they may be read again
	since  time.Time         // when nested was read: the id may be of another process since
}

// Limits on what is read and kept. Numbers that are no ids of threads are common: not every word is a lock's.
const (
	ownTIDsEach      = time.Second      // how soon threads are looked for again; each time in vain, twice as long
	ownTIDsLongest   = 64 * time.Second // but no longer
	ownTIDsLasts     = 10 * time.Second // for which it is believed that a process has or has no namespace of its own
	ownTIDsThreads   = 4096             // threads that are looked at in a second, some 20 us each
	ownTIDsProcesses = 4096
)

// NewOwnTIDs returns a translator that reads /proc.
func NewOwnTIDs(fs FS) *OwnTIDs {
	return &OwnTIDs{fs: fs, now: time.Now, processes: map[uint32]*ownTIDs{}}
}

// Host returns the host's id of the thread of a process that has an id in the process's namespace; 0 if there is none.
func (o *OwnTIDs) Host(pid, tid uint32) uint32 {
	now := o.now()
	p := o.processes[pid]
	if p == nil || now.Sub(p.since) >= ownTIDsLasts {
		ids := o.fs.NamespaceIDs(int(pid), int(pid))
		switch {
		case len(ids) == 0 && p == nil:
			return tid // it has ended
		case len(ids) > 0 && (p == nil || p.nested != (len(ids) > 1)):
			if len(o.processes) >= ownTIDsProcesses {
				clear(o.processes)
			}
			p = &ownTIDs{nested: len(ids) > 1, wait: ownTIDsEach}
			o.processes[pid] = p
		}
		p.since = now
	}
	if !p.nested {
		return tid
	}
	if host, ok := p.host[tid]; ok {
		return host
	}
	if now.Sub(p.read) < p.wait || !o.look(pid, p, now) {
		return 0
	}
	host := p.host[tid]
	if host != 0 {
		p.wait = ownTIDsEach
	} else {
		p.wait = min(2*p.wait, ownTIDsLongest)
	}
	p.read = now
	return host
}

// look reads the threads of a process, if that is not too much for this second.
func (o *OwnTIDs) look(pid uint32, p *ownTIDs, now time.Time) bool {
	if now.Sub(o.second) >= time.Second {
		o.second, o.left = now, ownTIDsThreads
	}
	if o.left <= 0 {
		return false
	}
	p.host = map[uint32]uint32{}
	threads, _ := o.fs.Threads(int(pid)) // none if it has ended
	for _, t := range threads[:min(len(threads), ownTIDsThreads)] {
		if ids := o.fs.NamespaceIDs(int(pid), t); len(ids) > 1 {
			p.host[ids[len(ids)-1]] = uint32(t)
		}
	}
	o.left -= len(threads)
	return true
}

// Forget drops what is known of a process, which has ended or executes another program.
func (o *OwnTIDs) Forget(pid uint32) { delete(o.processes, pid) }

// Ended drops a thread: another one of the process may get its id.
func (o *OwnTIDs) Ended(pid, tid uint32) {
	p := o.processes[pid]
	if p == nil {
		return
	}
	for own, host := range p.host {
		if host == tid {
			delete(p.host, own)
		}
	}
}

// NamespaceIDs are a thread's ids from our PID namespace down to its own (proc_pid_status(5): NSpid); none if it has
// ended.
func (f FS) NamespaceIDs(pid, tid int) (ids []uint32) {
	path := f.path(pid, "task", strconv.Itoa(tid), "status")
	if tid == pid {
		path = f.path(pid, "status")
	}
	b, err := small(path)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		rest, ok := strings.CutPrefix(line, "NSpid:")
		if !ok {
			continue
		}
		for w := range strings.FieldsSeq(rest) {
			n, err := strconv.ParseUint(w, 10, 32)
			if err != nil {
				return nil
			}
			ids = append(ids, uint32(n))
		}
	}
	return ids
}
