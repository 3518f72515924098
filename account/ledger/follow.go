package ledger

import (
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
)

// MaxDepth bounds the links of a chain.
const MaxDepth = 8

// Proof says why a link's thread is taken for the one that was waited for.
type Proof uint8

// The proofs.
const (
	ByItself Proof = iota // the first link: the waiter
	ByHolder              // its TID was in the lock word
	ByFutex               // it woke the waiter through the futex waited on
	ByWake                // it woke the waiter from its wait on a pipe or socket
	ByPeer                // it is at the other end of the socket
	ByHabit               // it usually releases the futex; this wait timed out
)

// Link is a thread of a chain, and what it did while the link before it waited.
type Link struct {
	Thread   event.Thread
	Comm     string
	Proof    Proof
	From, To uint64 // Unix ns: the relevant part of its time
	Known    bool   // Split is known; otherwise the thread's time was not recorded
	Split    Split
	Rows     []*event.OffCPU // its intervals in that part
	Wait     *event.OffCPU   // the wait that the next link, if any, explains: the longest of those for its thread
	Through  uint64          // ns of Split in which it waited for that thread
}

// Follow goes from an interval in which a thread was blocked to the thread that it waited for, and on through that
// thread's own waits. It stops at a thread that ran, that waited for something other than a thread, or whose time was
// not recorded. The first link is the waiter. Cycles are cut.
func (x *Index) Follow(row *event.OffCPU) []Link {
	from, to := Blocked(row)
	first := Link{
		Thread: row.Thread, Comm: row.Comm, From: from, To: to, Known: true, Rows: []*event.OffCPU{row},
		Wait: row,
	}
	first.Split, first.Through = Split{Wall: to - from}, to-from
	first.Split.NS[row.Class] = to - from
	chain := []Link{first}
	seen := map[uint32]bool{row.TID: true}
	for len(chain) < MaxDepth {
		last := &chain[len(chain)-1]
		if last.Wait == nil {
			break
		}
		tid, proof, ok := x.Behind(last.Wait)
		if !ok || seen[tid] {
			break
		}
		seen[tid] = true
		from, to := Blocked(last.Wait)
		from, to = max(from, last.From), min(to, last.To)
		if proof == ByHolder {
			to = min(to, x.released(last.Wait, tid, from))
		}
		if from >= to {
			break
		}
		chain = append(chain, x.link(tid, proof, from, to, last.Wait))
	}
	if n := len(chain); n > 1 {
		chain[n-1].Wait = nil // no thread was found behind it
	}
	return chain
}

// released returns when the holder of a lock let it go after a time, Unix ns: others that waited for it, too, may have
// had it then, and what the first one did since is not what kept them waiting. The end of the wait if that is not
// known.
func (x *Index) released(o *event.OffCPU, holder uint32, from uint64) uint64 {
	_, to := Blocked(o)
	list := x.releases[release{o.PID, holder, o.Futex}]
	if i, _ := slices.BinarySearch(list, from+1); i < len(list) {
		return min(list[i], to)
	}
	return to
}

// link describes what a thread did in a span.
func (x *Index) link(tid uint32, proof Proof, from, to uint64, before *event.OffCPU) Link {
	if later := x.renewed[before]; later != nil && later.Waker.TID == tid {
		before = later
	}
	t, comm, ok := x.Thread(tid)
	if !ok && before.Waker.TID == tid {
		t = before.Waker
	} else if !ok {
		t = event.Thread{PID: before.PID, TID: tid}
	}
	if comm == "" && before.Waker.TID == tid {
		comm = before.WakerComm
	}
	l := Link{Thread: t, Comm: comm, Proof: proof, From: from, To: to}
	l.Split, l.Known = x.Between(tid, from, to)
	l.Rows = x.Overlapping(tid, from, to)
	c := l.Split.Largest()
	if !l.Known {
		return l
	}
	x.waitedMost(&l, c)
	return l
}

// waitedMost finds the thread for which a link's thread waited most in a class of its time: for more than half of it,
// else there is no next link.
func (x *Index) waitedMost(l *Link, c event.Class) {
	type waited struct {
		ns, most uint64
		longest  *event.OffCPU
	}
	by := map[uint32]*waited{}
	var all uint64
	for _, o := range l.Rows {
		b, e := Blocked(o)
		v := overlap(b, e, l.From, l.To)
		if o.Class != c || v == 0 || !Follows(o) && (c != event.Poll || !x.delivers(o)) {
			continue
		}
		tid, _, _ := x.Behind(o) // 0 if it is not known
		w := by[tid]
		if w == nil {
			w = &waited{}
			by[tid] = w
		}
		if w.ns += v; v > w.most {
			w.longest, w.most = o, v
		}
		all += v
	}
	for _, w := range by {
		if 2*w.ns > all {
			l.Wait = w.longest
			l.Through = uint64(float64(l.Split.Of(c)) * float64(w.ns) / float64(all)) // with waits too short for a row
		}
	}
}

// Follows reports whether a wait is one for another thread. All waits of the classes of Followable are; a wait within
// any other system call is, if a thread ended it in a system call of its own: a child that ended, a process that serves
// a file system, a thread that released a lock of the kernel's or of a file.
func Follows(o *event.OffCPU) bool { return Followable(o.Class) || released(o) }

// Stopped reports whether a thread was stopped, by a signal or by another process that traces it (TASK_STOPPED and
// TASK_TRACED in include/linux/sched.h): it waits for who lets it go on.
func Stopped(o *event.OffCPU) bool { return o.State&(4|8) != 0 }

// released reports whether a thread that waited in the kernel was released by another one. A device that is done also
// looks like that, if its interrupt comes while another thread is in a system call. So a wait in the driver of a device
// counts only if it was for a lock (the kernel does not interrupt those), and if another process was in the driver,
// too.
func released(o *event.OffCPU) bool {
	w := o.Waker
	if w.PID == 0 || w.TID == 0 || w.TID == o.TID || o.WakerSyscall < 0 || interrupts(o.WakerComm) {
		return false
	}
	const interruptible, uninterruptible = 1, 2 // TASK_INTERRUPTIBLE, TASK_UNINTERRUPTIBLE
	switch o.Class {
	case event.Other: // outside a system call: frozen, stopped, or for a page that a program provides
		return o.Syscall >= 0 || o.State == interruptible || Stopped(o)
	case event.Ioctl:
		return o.State == uninterruptible && w.PID != o.PID && o.WakerSyscall == o.Syscall
	}
	return false
}

// Followable reports whether waits of the class are ended by another thread, so that the waker is the thread that was
// waited for. A poll alone does not count: it waits for any of several events. But if others wait for a polling
// thread, that thread waits for the one that then sends it something.
func Followable(c event.Class) bool {
	return c == event.Futex || c == event.Pipe || c == event.Network
}

// Behind returns the thread that an interval waited for: the lock's holder if it is a living thread, otherwise the
// waker. A waker is trusted only for the waits of Follows, and only if it woke the thread in its own system call: the
// idle task, timers and network interrupts run in the context of the thread that they interrupt.
func (x *Index) Behind(o *event.OffCPU) (tid uint32, proof Proof, ok bool) {
	if o.Class == event.Futex {
		return x.behindFutex(o)
	}
	w := o.Waker
	if o.Class == event.Network && !x.delivers(o) {
		tid := x.peer(o)
		return tid, ByPeer, tid != 0 && tid != o.TID
	}
	if o.Class == event.Poll && x.delivers(o) {
		return w.TID, ByWake, true
	}
	if !Follows(o) || w.PID == 0 || w.TID == 0 || w.TID == o.TID || o.WakerSyscall < 0 || interrupts(o.WakerComm) {
		return 0, 0, false
	}
	return w.TID, ByWake, true
}

// exits are the system calls by which a thread ends. The kernel then wakes who waits for that (pthread_join(3)), and
// who waits for a lock that the thread held.
const exits = "exit exit_group"

// behindFutex is Behind for a wait on a futex. A wait that timed out and was continued at once was for the thread that
// ended the later one. A requeued waiter is woken at another address of the same process.
func (x *Index) behindFutex(o *event.OffCPU) (tid uint32, proof Proof, ok bool) {
	if x.holds(o) {
		return o.Holder, ByHolder, true
	}
	if later := x.renewed[o]; later != nil {
		o = later
	}
	switch w := o.Waker; {
	case w.TID != 0 && w.TID != o.TID && o.Futex != 0 && o.WakerFutex == o.Futex,
		w.TID != 0 && w.TID != o.TID && o.WakerFutex != 0 && w.PID == o.PID,
		w.TID != 0 && w.TID != o.TID && w.PID == o.PID && o.WakerSyscall >= 0 && x.exits[o.WakerSyscall]:
		return w.TID, ByFutex, true
	}
	if tid = x.peers[conditionOf(o)]; tid != 0 && tid != o.TID && o.Futex != 0 && o.WakerFutex == 0 {
		return tid, ByHabit, true
	}
	return 0, 0, false
}

// delivers reports whether the waker of a socket wait or a poll is the thread at the other end, and
// not a thread that a network interrupt interrupted.
func (x *Index) delivers(o *event.OffCPU) bool {
	w := o.Waker
	return w.PID != 0 && w.TID != 0 && w.TID != o.TID && !interrupts(o.WakerComm) && o.WakerSyscall >= 0 &&
		x.transfers[o.WakerSyscall]
}

// transfers are the system calls that may end another thread's socket wait. A network interrupt may also interrupt an
// unrelated thread in a system call, but rarely in one of these.
const transfers = `read write close pwrite64 writev sendfile connect sendto recvfrom sendmsg recvmsg shutdown splice
	sendmmsg io_uring_enter`

// holds checks the TID found in a lock word, which is only a hint: the word may not be a lock. It must be another
// thread that is alive during the wait, and of the same process, unless the lock may be shared with a process whose
// time was recorded.
func (x *Index) holds(o *event.OffCPU) bool {
	k := x.threads[o.Holder]
	if o.Holder == 0 || o.Holder == o.TID || k == nil {
		return false
	}
	if k.ended != 0 && k.ended <= o.Start || k.born > end(o) {
		return false
	}
	return k.thread.PID == o.PID || k.known
}

// interrupts reports whether a task wakes threads on behalf of hardware.
func interrupts(comm string) bool {
	for _, p := range []string{"swapper", "ksoftirqd", "ktimers", "irq/"} {
		if strings.HasPrefix(comm, p) {
			return true
		}
	}
	return false
}
