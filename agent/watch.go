package agent

import (
	"fmt"
	"maps"
	"time"

	"github.com/ingero-io/ingero/probe"
)

// blindScan is how often processes are looked for if the kernel may not tell of
// them. A look costs some 50 us a process.
const blindScan = time.Second

// watch begins to notice what processes map. Where that is forbidden, they are
// looked for instead: what they do before they are found is lost, and counted.
func (r *run) watch() error {
	w, err := probe.NewMapWatcher()
	if err != nil {
		r.log.Warn("libraries that are loaded later are noticed only once a second; ingero check says why and what to do", "err", err)
		r.blind = true
		if w, err = probe.NewIdleWatcher(); err != nil {
			return err
		}
	}
	r.watcher = w
	return nil
}

// rescan looks for processes that were not noticed.
func (r *run) rescan() error {
	known := maps.Clone(r.targets.traced)
	if err := r.targets.scan(); err != nil {
		return fmt.Errorf("look for processes: %w", err)
	}
	for pid := range r.targets.traced {
		if !known[pid] {
			r.processTable.process(pid, true)
			r.footprints.also(pid, r.processTable.name)
		}
		r.pythons.look(pid)
	}
	return nil
}
