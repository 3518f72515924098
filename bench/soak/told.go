package soak

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// told is what the kernel reports of processes' lives by its own connector (CONFIG_PROC_EVENTS), which the tracer does
// not use: which process existed when, and what it was called.
type told struct {
	fd   int
	mu   sync.Mutex
	all  lives
	done chan struct{}
}

// Of linux/connector.h and linux/cn_proc.h.
const (
	cnIdxProc    = 1
	cnValProc    = 1
	mcastListen  = 1
	headerBytes  = 16 + 20 // of netlink and of the connector
	eventFork    = 1
	eventExec    = 2
	eventComm    = 0x200
	eventExit    = 0x80000000
	eventsBuffer = 16 << 20 // bytes: a burst of short processes must not be dropped
)

// watchLives follows all processes of the machine until ctx is done.
func watchLives(ctx context.Context) (*told, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_CONNECTOR)
	if err != nil {
		return nil, fmt.Errorf("ask the kernel for processes' lives: %w", err)
	}
	t := &told{fd: fd, all: lives{of: map[uint32][]*life{}}, done: make(chan struct{})}
	timeout := unix.NsecToTimeval(int64(200 * time.Millisecond))
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, eventsBuffer),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout),
		unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: cnIdxProc}),
		unix.Sendto(fd, listenMessage(), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("ask the kernel for processes' lives: %w", err)
	}
	t.present()
	go t.follow(ctx)
	return t, nil
}

func listenMessage() []byte {
	m := make([]byte, headerBytes+4)
	order := binary.NativeEndian
	order.PutUint32(m, uint32(len(m)))
	order.PutUint16(m[4:], unix.NLMSG_DONE)
	order.PutUint32(m[12:], uint32(os.Getpid()))
	order.PutUint32(m[16:], cnIdxProc)
	order.PutUint32(m[20:], cnValProc)
	order.PutUint16(m[32:], 4)
	order.PutUint32(m[headerBytes:], mcastListen)
	return m
}

// present adds the processes that exist already.
func (t *told) present() {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
	for _, d := range dirs {
		if pid, err := strconv.ParseUint(filepath.Base(d), 10, 32); err == nil {
			x := &life{}
			x.call(uint32(pid))
			t.all.of[uint32(pid)] = []*life{x}
		}
	}
}

func (t *told) follow(ctx context.Context) {
	defer close(t.done)
	defer unix.Close(t.fd)
	buffer := make([]byte, 4096)
	for ctx.Err() == nil {
		n, _, err := unix.Recvfrom(t.fd, buffer, 0)
		switch {
		case errors.Is(err, unix.ENOBUFS):
			t.mu.Lock()
			t.all.blind = true
			t.mu.Unlock()
		case err == nil && n >= headerBytes+16+16:
			t.event(buffer[headerBytes:n], float64(time.Now().UnixNano())/1e9)
		}
	}
}

// event is a struct proc_event: what happened, the CPU, the time, and what depends on the first.
func (t *told) event(e []byte, now float64) {
	order := binary.NativeEndian
	what, data := order.Uint32(e), e[16:]
	id := func(i int) uint32 { return order.Uint32(data[4*i:]) }
	t.mu.Lock()
	defer t.mu.Unlock()
	switch what {
	case eventFork: // parent's thread and process, child's thread and process
		if id(2) == id(3) {
			x := &life{from: now}
			if parent := t.alive(id(1)); parent != nil {
				x.names, x.unnamed = slices.Clone(parent.names), parent.unnamed
			}
			t.all.of[id(3)] = append(recent(t.all.of[id(3)], now), x)
		}
	case eventExec:
		if x := t.alive(id(1)); x != nil {
			x.exec(id(1))
		}
	case eventComm:
		if x := t.alive(id(1)); x != nil && len(data) >= 24 {
			name, _, _ := strings.Cut(string(data[8:24]), "\x00")
			x.addName(name)
		}
	case eventExit:
		if x := t.alive(id(1)); x != nil && id(0) == id(1) {
			x.to = now
		}
	}
}

// recent leaves out lives that ended long before any window that is asked for. An id that is used again would otherwise
// have more of them by the hour.
func recent(of []*life, now float64) []*life {
	const long = 300 // s
	return slices.DeleteFunc(of, func(x *life) bool { return x.to > 0 && x.to < now-long })
}

// alive is the life of a process that was told last.
func (t *told) alive(pid uint32) *life {
	if all := t.all.of[pid]; len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}

// exec is call for a process that runs another program now. If that gives it no name that it did not have, it may have
// gone on to the next program already, as "nice env go" does, before the name of this one was read.
func (x *life) exec(pid uint32) {
	had := len(x.names)
	x.call(pid)
	x.unnamed = x.unnamed || len(x.names) == had
}

// call gives a process the names that it has now: its own, and that of its program, which it may have changed already.
func (x *life) call(pid uint32) {
	dir := "/proc/" + strconv.FormatUint(uint64(pid), 10)
	comm, err := os.ReadFile(dir + "/comm")
	if err != nil {
		x.unnamed = true
		return
	}
	x.addName(strings.TrimSuffix(string(comm), "\n"))
	program, err := os.Readlink(dir + "/exe")
	if err != nil { // it has ended, or is a thread of the kernel, which takes other names without a word
		x.unnamed = true
		return
	}
	const longest = 15 // TASK_COMM_LEN without its end
	base := strings.TrimSuffix(filepath.Base(program), " (deleted)")
	x.addName(base[:min(len(base), longest)])
}

func (x *life) addName(name string) {
	if !slices.Contains(x.names, name) {
		x.names = append(x.names, name)
	}
}

// with gives a function what is known.
func (t *told) with(f func(lives)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(t.all)
}
