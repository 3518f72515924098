package metrics

import (
	"context"
	"sync"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// outbox bounds the log records or spans that wait to be sent, and counts those that were not taken: by the
// outbox, which was full, or by the receiver.
type outbox struct {
	most int

	mu      sync.Mutex // guards what follows
	waiting int
	lost    uint64
	closed  bool
}

// take reports whether there is room for one more.
func (o *outbox) take() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.waiting >= o.most {
		o.lost++
		return false
	}
	o.waiting++
	return true
}

// sent says that n were sent, or failed to be.
func (o *outbox) sent(n int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed { // they are lost already
		return
	}
	o.waiting -= n
	if err != nil {
		o.lost += uint64(n)
	}
}

// lose counts one that could not even begin to wait.
func (o *outbox) lose() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost++
}

// close counts what still waits as lost.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost += uint64(o.waiting)
	o.waiting, o.closed = 0, true
}

func (o *outbox) losses() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lost
}

// logOutbox hands log records on while there is room.
type logOutbox struct {
	sdklog.Processor
	box *outbox
}

// OnEmit implements sdklog.Processor.
func (o logOutbox) OnEmit(ctx context.Context, r *sdklog.Record) error {
	if !o.box.take() {
		return nil
	}
	return o.Processor.OnEmit(ctx, r)
}

// sentLogs counts what an exporter sends.
type sentLogs struct {
	sdklog.Exporter
	box *outbox
}

// Export implements sdklog.Exporter.
func (s sentLogs) Export(ctx context.Context, records []sdklog.Record) error {
	err := s.Exporter.Export(ctx, records)
	s.box.sent(len(records), err)
	return err
}

// spanOutbox hands spans on while there is room.
type spanOutbox struct {
	sdktrace.SpanProcessor
	box *outbox
}

// OnEnd implements sdktrace.SpanProcessor.
func (o spanOutbox) OnEnd(s sdktrace.ReadOnlySpan) {
	if o.box.take() {
		o.SpanProcessor.OnEnd(s)
	}
}

// sentSpans counts what an exporter sends.
type sentSpans struct {
	sdktrace.SpanExporter
	box *outbox
}

// ExportSpans implements sdktrace.SpanExporter.
func (s sentSpans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := s.SpanExporter.ExportSpans(ctx, spans)
	s.box.sent(len(spans), err)
	return err
}
