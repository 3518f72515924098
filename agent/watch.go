package agent

import (
	"fmt"
	"maps"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
)

// blindScan is how often processes are looked for if the kernel may not tell of
// them. A look costs some 50 us a process.
const blindScan = time.Second

// watcher notices what processes map, and wakes the run. Where that is forbidden, they are
// looked for instead: what they do before they are found is lost, and counted.
type watcher struct {
	*probe.MapWatcher
	blind  bool // it may not watch: processes are looked for by and by
	missed bool // a mapping was not told of: processes have to be looked for
}

// watch begins to notice what processes map, and that the tracer has something to tell.
func (r *run) watch() error {
	m, err := probe.NewMapWatcher()
	if err != nil {
		r.log.Warn("libraries that are loaded later are noticed only once a second; ingero check says why and what to do",
			"err", err)
		r.watcher.blind = true
		if m, err = probe.NewIdleWatcher(); err != nil {
			return err
		}
	}
	r.watcher.MapWatcher = m
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

// mappings handles what was mapped executable.
func (r *run) mappings() {
	lost := r.watcher.Lost()
	var fresh []int
	r.watcher.Drain(func(m probe.Mapped) {
		if r.targets.mapped(m) {
			fresh = append(fresh, m.PID)
		}
		r.followers.mapped(m)
	})
	for _, pid := range fresh { // by now, all that it has mapped is attached to
		r.followers.traced(pid)
	}
	r.watcher.missed = r.watcher.missed || r.watcher.Lost() != lost
}

// rescan looks for processes that were not noticed, if there may be any.
func (r *run) rescan(now time.Time) error {
	if w := &r.watcher; !w.missed && !w.blind || now.Sub(r.targets.scanned) <= blindScan {
		return nil
	}
	r.watcher.missed = false
	known := maps.Clone(r.targets.traced)
	if err := r.targets.scan(); err != nil {
		return fmt.Errorf("look for processes: %w", err)
	}
	for pid := range r.targets.traced {
		if !known[pid] {
			r.followers.traced(pid)
		}
	}
	r.followers.rescanned()
	return nil
}
