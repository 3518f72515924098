package probe

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/event"
)

// innerLinks are the links of an attachment on the driver's functions of one role that are
// event.Op.Inner. They are apart from those on its other functions, so that they can be taken off:
// each such call costs 0.6 us, and in most programs it is a part of one that is recorded anyway.
type innerLinks struct {
	mu      sync.Mutex
	targets []Target
	file    *os.File // the same one is attached to again, whatever has its name by then
	pid     int      // 0: every process
	close   closers  // nil: taken off
	ended   bool
}

// split parts a file's functions in those that keep their probes and those that may lose
// them, by role. With a perf event for each function all keep them: taking one off takes the
// kernel a tenth of a second.
func (t *Tracer) split(all []Target) (rest []Target, separate map[event.Role][]Target) {
	if t.variant.backend == BackendPerf || t.opts.Empty {
		return all, nil
	}
	separate = map[event.Role][]Target{}
	for _, f := range all {
		if f.Cookie>>24&inner != 0 {
			role := event.Op(f.Cookie).Role()
			separate[role] = append(separate[role], f)
		} else {
			rest = append(rest, f)
		}
	}
	if len(rest) == 0 {
		return all, nil
	}
	return rest, separate
}

// attachInner probes the functions that split separated.
func (t *Tracer) attachInner(calls *ebpf.Collection, file *os.File, separate map[event.Role][]Target, pid int) (
	map[event.Role]*innerLinks, error,
) {
	list := map[event.Role]*innerLinks{}
	for role, targets := range separate {
		in := &innerLinks{targets: targets, pid: pid}
		var err error
		if in.file, err = again(file); err == nil {
			if err = in.attach(t.variant, calls); err != nil {
				in.file.Close()
			}
		}
		if err != nil {
			return nil, errors.Join(err, endInner(list))
		}
		list[role] = in
	}
	return list, nil
}

// again is another descriptor of an open file.
func again(file *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), file.Name()), nil
}

func (l *innerLinks) attach(v *variant, calls *ebpf.Collection) (err error) {
	l.close, err = v.attach(calls, l.file, l.targets, l.pid)
	return err
}

// HasInner reports whether the attachment has probes that SetInner detaches.
func (a *Attachment) HasInner(role event.Role) bool { return a.inner[role] != nil }

// SetInner detaches the probes on the driver's functions of a role (event.InnerRoles) in an
// attachment, or attaches them again, which takes the kernel some 50 ms. A call of them that is in
// flight meanwhile has no record; no other call is touched. It may be called from any goroutine, and
// does nothing to an attachment that has ended.
func (t *Tracer) SetInner(a *Attachment, role event.Role, on bool) error {
	in := a.inner[role]
	if in == nil {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended || on == (in.close != nil) {
		return nil
	}
	if on {
		if err := in.attach(t.variant, t.calls); err != nil {
			return fmt.Errorf("probe the driver's functions again: %w", explain(err))
		}
		return nil
	}
	// Halves of calls that are missing from now on are no loss.
	if err := t.calls.Variables["inner_off"].Set(true); err != nil {
		return fmt.Errorf("take the probes off the driver's functions: %w", err)
	}
	c := in.close
	in.close = nil
	if err := c.Close(); err != nil {
		return fmt.Errorf("take the probes off the driver's functions: %w", err)
	}
	return nil
}

// endInner takes the probes off for good.
func endInner(list map[event.Role]*innerLinks) error {
	var errs []error
	for _, l := range list {
		errs = append(errs, l.end())
	}
	return errors.Join(errs...)
}

func (l *innerLinks) end() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil
	}
	l.ended = true
	c := l.close
	l.close = nil
	return errors.Join(c.Close(), l.file.Close())
}
