package agent

import (
	stepchange "github.com/ingero-io/ingero/explain/change"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// LiveChanges tells the times from which on steps take longer, some seconds after they begin to. It is
// a Sink. Unlike Live it needs no recording.
type LiveChanges struct {
	live  *stepchange.Live
	found func(*report.Change)
}

// NewLiveChanges makes a sink that calls found for each change, once, from the goroutine that calls the
// sink.
func NewLiveChanges(found func(*report.Change)) *LiveChanges {
	return &LiveChanges{stepchange.NewLive(), found}
}

// Batch implements Sink.
func (l *LiveChanges) Batch(b *store.Batch) { l.live.Batch(b) }

// Second implements Sink.
func (l *LiveChanges) Second(s *Status) {
	list := l.live.Changes(uint64(s.At.UnixNano()))
	for i := range list {
		l.found(&list[i])
	}
}
