package agent

import (
	"fmt"
	"maps"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
)

// blindScan is how often processes are looked for where the kernel cannot report mappings. A look
// costs some 50 us a process.
const blindScan = time.Second

// watcher notices mappings of processes, and wakes the run. Where that is not permitted, processes
// are looked for: their calls before they are found are not recorded, and the time is counted.
type watcher struct {
	*probe.MapWatcher
	blind  bool // mappings cannot be watched: processes are looked for instead
	missed bool // a mapping was missed: processes must be looked for
	failed bool // they could not be, which was said

	changed   map[int]bool // traced processes that have mapped something since the last look
	refreshed time.Time    // when that was
}

// refreshEach is how often the mappings of processes that map more are read again. That costs some
// milliseconds for a process with a thousand of them, which it often maps one after the other.
const refreshEach = 100 * time.Millisecond

// refresh reads again what traced processes have mapped since.
func (r *run) refresh(now time.Time) {
	w := &r.watcher
	if len(w.changed) == 0 || now.Sub(w.refreshed) < refreshEach {
		return
	}
	for pid := range w.changed {
		r.tracer.Refresh(pid)
	}
	clear(w.changed)
	w.refreshed = now
}

// watch begins to watch for mappings of processes, and for records in the tracer's rings.
func (r *run) watch() error {
	m, err := probe.NewMapWatcher()
	if err != nil {
		r.log.Warn("new libraries are noticed only once a second, so first calls may be missed; "+
			"ingero check says why and what to do", "err", err)
		r.watcher.blind = true
		if m, err = probe.NewIdleWatcher(); err != nil {
			return err
		}
	}
	r.watcher.MapWatcher, r.watcher.changed = m, map[int]bool{}
	if err := m.Add(r.tracer.LivesFD()); err != nil {
		return fmt.Errorf("watch processes: %w", err)
	}
	if fd := r.tracer.NamesFD(); fd >= 0 {
		if err := m.Add(fd); err != nil {
			return fmt.Errorf("watch names: %w", err)
		}
	}
	return nil
}

// mappings handles new executable mappings.
func (r *run) mappings() {
	dropped := r.watcher.Dropped()
	r.watcher.Drain(func(m probe.Mapped) {
		r.targets.mapped(m)
		r.followers.mapped(m)
		if r.targets.traced[m.PID] {
			r.watcher.changed[m.PID] = true
		}
	})
	for _, pid := range r.targets.lookAtMapped() {
		r.watcher.changed[pid] = true
		r.followers.traced(pid)
	}
	r.watcher.missed = r.watcher.missed || r.watcher.Dropped() != dropped || r.targets.mapping.dropped
	r.targets.mapping.dropped = false
}

// rescan looks for processes that may have been missed.
func (r *run) rescan(now time.Time) {
	if w := &r.watcher; !w.missed && !w.blind || now.Sub(r.targets.scanned) <= blindScan {
		return
	}
	r.watcher.missed = false
	known := maps.Clone(r.targets.traced)
	err := r.targets.scan()
	for pid := range r.targets.traced {
		if !known[pid] {
			r.followers.traced(pid)
		}
	}
	if err != nil && !r.watcher.failed {
		r.log.Warn("cannot look for processes; this is tried each second", "err", err)
	}
	if r.watcher.failed = err != nil; r.watcher.failed { // as where no descriptor is left
		r.watcher.missed, r.targets.scanned = true, now
		return
	}
	r.followers.rescanned()
}
