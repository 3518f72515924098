package limit

import (
	"log/slog"
	"sync"
)

// Warnings is how many files are named that exceed a limit: a stranger may make any number of them.
const Warnings = 64

// Log says which limit a file exceeds, once of each file.
type Log struct {
	log *slog.Logger

	mu   sync.Mutex
	said map[string]bool
}

// NewLog returns a Log that says it to log.
func NewLog(log *slog.Logger) *Log { return &Log{log: log, said: map[string]bool{}} }

// Refused says that a file, or a part of it, is not read, and why.
func (l *Log) Refused(path string, exceeded error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said[path] || len(l.said) > Warnings {
		return
	}
	l.said[path] = true
	if len(l.said) > Warnings {
		l.log.Warn("more files are not read, or not all of them, because they exceed limits", "named", Warnings)
		return
	}
	l.log.Warn("this file is not read, or not all of it, because it exceeds a limit", "file", path, "why", exceeded)
}
