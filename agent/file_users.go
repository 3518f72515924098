package agent

import (
	"maps"
	"slices"
	"time"

	"github.com/ingero-io/ingero/event/lists"
)

// fileUsers knows which processes have mapped which of the library files that are attached to. A file is let go when
// nobody maps it: a link holds the file's space and its file system. Pure: it is given what is mapped, and the time.
type fileUsers struct {
	processes map[fileKey]map[int]bool
	files     map[int]map[fileKey]bool
	unused    map[fileKey]time.Time // since when nobody has mapped a file
	asked     int                   // the process whose mappings were last read again
	doubtful  []int                 // those to be read again first
}

func newFileUsers() fileUsers {
	return fileUsers{
		processes: map[fileKey]map[int]bool{}, files: map[int]map[fileKey]bool{}, unused: map[fileKey]time.Time{},
	}
}

// attached notes a file that is attached to.
func (u *fileUsers) attached(k fileKey, now time.Time) {
	if len(u.processes[k]) == 0 {
		u.unused[k] = now
	}
}

// set says which files a process has mapped now.
func (u *fileUsers) set(pid int, files []fileKey, now time.Time) {
	before := u.files[pid]
	after := make(map[fileKey]bool, len(files))
	for _, k := range files {
		after[k] = true
		if u.processes[k] == nil {
			u.processes[k] = map[int]bool{}
		}
		u.processes[k][pid] = true
		delete(u.unused, k)
	}
	for k := range before {
		if !after[k] {
			u.leave(pid, k, now)
		}
	}
	if len(after) == 0 {
		delete(u.files, pid)
	} else {
		u.files[pid] = after
	}
}

// inherit gives a new process the mappings of its parent.
func (u *fileUsers) inherit(parent, child int, now time.Time) {
	u.set(child, slices.Collect(maps.Keys(u.files[parent])), now)
}

// gone says that a process has ended.
func (u *fileUsers) gone(pid int, now time.Time) { u.set(pid, nil, now) }

func (u *fileUsers) leave(pid int, k fileKey, now time.Time) {
	delete(u.processes[k], pid)
	if len(u.processes[k]) == 0 {
		delete(u.processes, k)
		u.unused[k] = now
	}
}

// forget forgets a file that is attached to no more.
func (u *fileUsers) forget(k fileKey) {
	for pid := range u.processes[k] {
		delete(u.files[pid], k)
		if len(u.files[pid]) == 0 {
			delete(u.files, pid)
		}
	}
	delete(u.processes, k)
	delete(u.unused, k)
}

// doubt says that a process may have mapped something else: it executed a program.
func (u *fileUsers) doubt(pid int) {
	if len(u.files[pid]) > 0 && !slices.Contains(u.doubtful, pid) {
		u.doubtful = append(u.doubtful, pid)
	}
}

// next is the process whose mappings are to be read again: nothing says that a process has unmapped a file. ok is
// false if none has mapped any.
func (u *fileUsers) next() (pid int, ok bool) {
	for len(u.doubtful) > 0 {
		pid, u.doubtful = u.doubtful[0], u.doubtful[1:]
		if len(u.files[pid]) > 0 {
			return pid, true
		}
	}
	pid = lists.InTurn(u.files, u.asked)
	u.asked = pid
	return pid, pid != 0
}

const (
	// unusedTime is for how long a file stays attached to that nobody maps any more, if that disturbs nobody: the
	// next program that maps it is then traced from its first call.
	unusedTime = time.Minute
	// maxUnused is how many such files stay; a link is a descriptor and some kilobytes.
	maxUnused = 64
)

// letGo returns the files that nobody maps and that are to be let go. keep reports whether a file may stay: for ever,
// or for unusedTime.
func (u *fileUsers) letGo(now time.Time, keep func(fileKey) (stays, forEver bool)) []fileKey {
	var gone, waiting []fileKey
	for k, since := range u.unused {
		stays, forEver := keep(k)
		switch {
		case stays && forEver:
		case !stays || now.Sub(since) >= unusedTime:
			gone = append(gone, k)
		default:
			waiting = append(waiting, k)
		}
	}
	if n := len(waiting) - maxUnused; n > 0 { // those that were used longest ago
		slices.SortFunc(waiting, func(a, b fileKey) int { return u.unused[a].Compare(u.unused[b]) })
		gone = append(gone, waiting[:n]...)
	}
	return gone
}
