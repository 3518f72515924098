package agent

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/event"
)

// standstill finds out what threads wait for that make no calls any more: who has the other end of a pipe, and whether
// a lock can be released at all. It asks /proc, about threads that are silent for seconds, and what keeps them.
type standstill struct {
	fs     proc.FS
	peers  map[peerKey]peer // who has the other end
	memory limit.Patient    // reads that of processes
}

func newStandstill(fs proc.FS) *standstill {
	return &standstill{fs: fs, peers: map[peerKey]peer{}, memory: limit.Patient{Wait: patience}}
}

// peerKey is a wait: a later one of the same thread may be for another process. Who polls again and again waits for the
// same.
type peerKey struct {
	event.Thread
	since uint64 // of a poll 0
	polls string // its pipes
}

// peer is a process that has the other end of a pipe.
type peer struct {
	event.Thread        // its first one; zero: there is none
	file         string // the pipe
}

const (
	maxPeers     = 64 // processes of which it is asked whether they have a pipe open
	maxPeerTasks = 64 // threads of a process that are looked at
)

// waitsForPeer reports whether a thread may wait for who has the other end of a pipe: it reads or writes one, or polls.
func waitsForPeer(f *event.InFlight) bool {
	return f.Op == 0 && f.Doing == event.Blocked &&
		(f.Class == event.Pipe && f.Inode != 0 && f.File != "" || f.Class == event.Poll)
}

// pipes lists what a thread that waits for a peer waits for.
func (s *standstill) pipes(f *event.InFlight) (peerKey, []string) {
	if f.Class == event.Pipe {
		return peerKey{Thread: f.Thread, since: f.Since}, []string{f.File}
	}
	pid, tid := int(event.KernelID(f.PID)), int(event.KernelID(f.TID))
	polled, err := limit.Within(&s.memory, func() ([]string, error) { return s.fs.Polled(pid, tid), nil }, nil)
	if err != nil {
		return peerKey{}, nil
	}
	polled = slices.DeleteFunc(polled, func(name string) bool { return !strings.HasPrefix(name, "pipe:") })
	return peerKey{Thread: f.Thread, polls: strings.Join(polled, " ")}, polled
}

// others adds to asked the threads at the other ends of the pipes that threads in list wait for.
func (s *standstill) others(list []event.InFlight, asked []uint32) []uint32 {
	there := map[uint32]bool{}
	for i := range list {
		there[list[i].TID] = true
	}
	for i := range list {
		f := &list[i]
		if !waitsForPeer(f) {
			continue
		}
		p := s.peer(f)
		if p.PID == 0 {
			continue
		}
		threads, err := s.fs.Threads(int(p.PID))
		if err != nil {
			continue
		}
		for _, tid := range threads[:min(len(threads), maxPeerTasks)] {
			if t := uint32(tid); !there[t] && !slices.Contains(asked, t) {
				asked = append(asked, t)
			}
		}
	}
	return asked
}

// describe adds to the threads in list who has the other end of what they wait for, and whether they are stuck.
func (s *standstill) describe(list []event.InFlight) {
	used := map[peerKey]peer{}
	stuck := map[uint32]bool{}
	for i := range list {
		f := &list[i]
		if f.Op != 0 || f.Doing != event.Blocked {
			continue
		}
		if waitsForPeer(f) {
			k, _ := s.pipes(f)
			if p, ok := s.peers[k]; ok {
				used[k], f.Peer, f.File = p, p.Thread, cmp.Or(f.File, p.file)
			}
			if f.Peer.PID != 0 {
				f.PeerComm, _ = s.fs.Comm(int(f.Peer.PID), int(f.Peer.TID)) // it may have ended
			}
		}
		if f.Class != event.Futex || f.Holder.TID != 0 {
			continue
		}
		is, ok := stuck[f.PID]
		if !ok {
			is = s.stuck(int(event.KernelID(f.PID)))
			stuck[f.PID] = is
		}
		f.Stuck = is
	}
	s.peers = used
}

// peer finds the process that has the other end of a pipe that a thread waits for, among its descendants and its
// parent: one that is stuck, else the first. It is asked once for each wait.
func (s *standstill) peer(f *event.InFlight) peer {
	k, pipes := s.pipes(f)
	if p, ok := s.peers[k]; ok {
		return p
	}
	var found peer
	writes := f.Syscall != unix.SYS_WRITE && f.Syscall != unix.SYS_WRITEV
	var near []int
	if len(pipes) > 0 {
		near = s.near(int(event.KernelID(f.PID)))
	}
	for _, pid := range near {
		at := slices.IndexFunc(pipes, func(name string) bool { return s.fs.Opened(pid, name, writes) })
		if at < 0 {
			continue
		}
		stuck := s.stuck(pid)
		if found.PID == 0 || stuck {
			found = peer{event.Thread{PID: uint32(pid), TID: uint32(pid)}, pipes[at]}
		}
		if stuck {
			break
		}
	}
	s.peers[k] = found
	return found
}

// near lists the descendants and the parent of a process.
func (s *standstill) near(pid int) []int {
	near := s.fs.Children(pid)
	for i := 0; i < len(near) && len(near) < maxPeers; i++ {
		near = append(near, s.fs.Children(near[i])...)
	}
	if parent, err := s.fs.Parent(pid); err == nil && parent > 1 {
		near = append(near, parent)
	}
	return near[:min(len(near), maxPeers)]
}

// stuck reports whether no thread of a process can end the wait of any other: each one waits for a futex that only this
// process can release, without a limit. They are read one after the other, so threads that wake each other in turn
// could all be found waiting. So each is read twice, and must not have left a CPU in between: then there was a moment
// at which all of them waited.
func (s *standstill) stuck(pid int) bool {
	before, ok := s.waiting(pid)
	if !ok {
		return false
	}
	after, ok := s.waiting(pid)
	return ok && maps.Equal(before, after)
}

// waiting returns how often the threads of a process have left a CPU; false if one of them does not wait for the
// process itself.
func (s *standstill) waiting(pid int) (map[int]uint64, bool) {
	threads, err := s.fs.Threads(pid)
	if err != nil || len(threads) == 0 || len(threads) > maxPeerTasks {
		return nil, false
	}
	switches := map[int]uint64{}
	for _, tid := range threads {
		nr, args, ok := s.fs.Syscall(pid, tid)
		if !ok || !waitsForItself(nr, args) {
			return nil, false
		}
		if switches[tid], ok = s.fs.Switches(pid, tid); !ok {
			return nil, false
		}
	}
	return switches, true
}

// The futex operations that wait, and the flag of those that only threads of the same process can wake up (futex(2)).
const (
	futexWait       = 0
	futexLockPI     = 6
	futexWaitBitset = 9
	futexLockPI2    = 13
	futexPrivate    = 128
	futexCommand    = ^uint64(futexPrivate | 256) // 256: by the wall clock
)

// waitsForItself reports whether a system call waits, without a limit, for a futex that only the calling process can
// release.
func waitsForItself(nr int, args [6]uint64) bool {
	op, limit := args[1], args[3]
	switch op & futexCommand {
	case futexWait, futexWaitBitset, futexLockPI, futexLockPI2:
		return nr == unix.SYS_FUTEX && op&futexPrivate != 0 && limit == 0
	}
	return false
}
