package agent

import (
	"log/slog"

	"github.com/ingero-io/ingero/capture/label/socket"
	"github.com/ingero-io/ingero/event"
)

// labels takes what programs say they work on.
type labels struct {
	server *socket.Server
	log    *slog.Logger
	closed bool
}

// labelsFollower records labels if the run has a socket for them. They are read after the calls that
// were drained, and go into the same batch: so the store, which splits calls by labels, has the labels first.
func labelsFollower(s *shared) follower {
	if s.opts.Labels == nil {
		return follower{}
	}
	l := &labels{server: s.opts.Labels, log: s.log}
	return follower{
		life: func(e *event.Life) {
			if e.Kind == event.LifeExit {
				l.server.Exited(e.PID, e.At)
			}
		},
		records: func(u *workItem) { u.batch.Labels = l.server.Poll(u.batch.Labels) },
		second: func(s *second) {
			refused := l.server.Refused()
			s.lost[event.LostLabel] += refused.Total()
		},
		close: l.close,
	}
}

func (l *labels) close() {
	if l.closed {
		return
	}
	l.closed = true
	if r := l.server.Refused(); r.Total() > 0 {
		l.log.Warn("lines of labels were refused; docs/labels.md has the limits", "malformed", r.Malformed,
			"not_allowed", r.NotAllowed, "too_many", r.TooMany, "unsent", r.Unsent, "connections", r.Connections)
	}
	if err := l.server.Close(); err != nil {
		l.log.Warn("cannot close the socket of labels", "err", err)
	}
}
