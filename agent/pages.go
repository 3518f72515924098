package agent

import (
	"log/slog"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
)

// pageCounts reads the page allocations of processes, if they are to be counted. The loop owns it.
type pageCounts struct {
	probe  *probe.Pages // nil if not
	log    *slog.Logger
	missed uint64
}

func newPageCounts(wanted bool, t *probe.Tracer, log *slog.Logger) *pageCounts {
	c := &pageCounts{log: log}
	if !wanted {
		return c
	}
	var err error
	if c.probe, err = t.OpenPages(); err != nil {
		log.Warn("page allocations are not counted", "err", err)
	}
	return c
}

func pagesFollower(s *shared) follower {
	c := &pageCounts{log: s.log}
	return follower{
		start: func(*beginning) { c = newPageCounts(s.opts.Pages, s.tracer, s.log) },
		second: func(t *second) {
			t.item.batch.Pages = c.take(t.now)
			t.lost[event.LostPages] += c.missed
		},
		stop:  func(*Summary) error { return c.stop() },
		close: func() { c.close() },
	}
}

// take returns the page allocations of each process since the last call.
func (c *pageCounts) take(now time.Time) []event.PageSum {
	if c.probe == nil {
		return nil
	}
	list, err := c.probe.Read(uint64(now.UnixNano()))
	if err != nil {
		c.log.Warn("cannot read page allocations", "err", err)
	}
	c.missed = c.probe.Missed()
	return list
}

// stop stops counting; take can still be called.
func (c *pageCounts) stop() error {
	if c.probe == nil {
		return nil
	}
	return c.probe.Detach()
}

func (c *pageCounts) close() {
	if c.probe == nil {
		return
	}
	if err := c.probe.Close(); err != nil { // what stays attached ends with this process
		c.log.Warn("cannot detach", "err", err)
	}
	c.probe = nil
}
