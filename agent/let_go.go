package agent

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/probe"
)

// maxUsed is how many names of library files are kept for the summary, and how many files that could not be attached
// to are remembered.
const maxUsed = 1024

// lastingFileSystems are the file systems, by device, that cannot be unmounted while the machine runs: those of / and
// /usr. A link on a file of another one would keep it from being unmounted.
func lastingFileSystems() map[uint64]bool {
	r := map[uint64]bool{}
	for _, path := range []string{"/", "/usr"} {
		if k, err := keyOf(path); err == nil {
			r[k.dev] = true
		}
	}
	return r
}

// lastsAt reports whether the file at path is on such a file system.
func (x *targets) lastsAt(path string) bool {
	k, err := keyOf(path)
	return err == nil && x.lasting[k.dev]
}

// failed remembers that a file cannot be attached to, so that this is logged once.
func (x *targets) failed(k fileKey) {
	n := 0
	for _, a := range x.attached {
		if a == nil {
			n++
		}
	}
	if n >= maxUsed {
		maps.DeleteFunc(x.attached, func(_ fileKey, a *probe.Attachment) bool { return a == nil })
	}
	x.attached[k] = nil
}

// letGo detaches from files that nobody maps any more. It is called once a second, and reads the mappings of two
// processes. ending reports whether the end of a process is known, and its last records are waited for.
func (x *targets) letGo(now time.Time, ending func(pid int) bool) {
	for k, a := range x.arrived.TakeAll() { // which nobody has asked for since
		if x.attached[k] != nil {
			x.detach(k, a.Attachment)
			continue
		}
		x.keepAttached(k, a.Attachment, a.name, now)
	}
	if pid, ok := x.users.next(); ok {
		before := len(x.users.files[pid])
		if _, err := x.fs.Comm(pid, pid); err != nil {
			x.users.gone(pid, now)
			if !ending(pid) { // the kernel had no room to report its end
				x.exited(pid)
			}
		} else if x.process(pid); len(x.users.files[pid]) < before {
			x.tracer.Unmapped(pid)
		}
	}
	x.tracer.Recheck()
	for _, k := range x.users.letGo(now, x.mayStay) {
		x.log.Debug("nobody maps this file any more", "file", x.names[k])
		x.release(k)
	}
}

// mayStay reports whether a file that nobody maps may stay attached to: until its process ends or it has no name any
// more if it was found on disk, else for a while.
func (x *targets) mayStay(k fileKey) (stays, forEver bool) {
	path := x.names[k]
	switch {
	case k.pid != 0:
		if a := x.attached[k]; a != nil {
			path = a.Path
		}
	case !x.lasting[k.dev]:
		return false, false
	}
	now, err := x.keyOf(path)
	if errors.Is(err, limit.ErrNoAnswer) {
		return true, x.found[k]
	}
	return err == nil && now.dev == k.dev && now.ino == k.ino, x.found[k]
}

// release ends an attachment.
func (x *targets) release(k fileKey) {
	a := x.attached[k]
	delete(x.attached, k)
	delete(x.names, k)
	delete(x.found, k)
	x.users.forget(k)
	if a != nil {
		x.detach(k, a)
	}
}

func (x *targets) detach(k fileKey, a *probe.Attachment) {
	go func() { // slow on the perf back end; nothing waits for it
		if err := x.tracer.Detach(a); err != nil {
			x.log.Debug("detach", "file", a.Path, "pid", k.pid, "err", err)
		}
	}()
}

// descendants adds the processes that named ones have started, and those that these have, to the tree. It reports
// whether there were any. Processes whose parent has ended have another one in /proc, and are not found.
func (x *targets) descendants() (found bool) {
	if len(x.processTree) == 0 {
		return false
	}
	pids, err := x.fs.PIDs()
	if err != nil {
		return false // the scan says so
	}
	children := map[int][]int{}
	for _, pid := range pids {
		if parent, err := x.fs.Parent(pid); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	for todo := slices.Collect(maps.Keys(x.processTree)); len(todo) > 0; todo = todo[1:] {
		for _, pid := range children[todo[0]] {
			if !x.processTree[pid] && pid != x.self {
				x.processTree[pid], found = true, true
				todo = append(todo, pid)
			}
		}
	}
	return found
}
