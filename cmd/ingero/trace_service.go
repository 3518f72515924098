package main

import (
	"fmt"
	"log/slog"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/store"
)

// supervisor tells systemd that tracing began, that it goes on, and what is traced. If the tracer hangs, systemd
// receives nothing for WatchdogSec and starts it again.
type supervisor struct {
	log     *slog.Logger
	ready   bool
	noticed bool // that systemd cannot be reached was logged
}

// newSupervisor returns nil unless systemd expects notifications (sd_notify(3)).
func newSupervisor(env func(string) string, log *slog.Logger) *supervisor {
	if env("NOTIFY_SOCKET") == "" {
		return nil
	}
	return &supervisor{log: log}
}

// Batch implements agent.Sink.
func (*supervisor) Batch(*store.Batch) {}

// Second implements agent.Sink.
func (s *supervisor) Second(st *agent.Status) {
	say := daemon.SdNotifyWatchdog
	if !s.ready {
		say, s.ready = daemon.SdNotifyReady+"\n"+say, true
	}
	s.say(say + "\nSTATUS=" + counted(st))
}

// Close says that it ends by itself, which may take some seconds: the last records are written after it.
func (s *supervisor) Close() error {
	s.say(daemon.SdNotifyStopping)
	return nil
}

func (s *supervisor) say(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil && !s.noticed {
		s.log.Warn(fmt.Sprintf("systemd could not be notified: %v", err))
		s.noticed = true
	}
}
