package nodeapi

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// metricsType is Prometheus' text format.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// metrics returns metrics of the recording: whether it can be read, and its size. Metrics of calls
// are exported by the tracing process.
func metrics(ctx context.Context, a *API, _ *input) (any, error) {
	var b bytes.Buffer
	metric := func(name, kind, help string) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	}
	up := 1
	err := a.src.Read(ctx, func(r store.Recording) error {
		sum, err := r.Summary(ctx)
		if err != nil {
			return err
		}
		metric("ingero_recording_calls", "gauge", "Calls in the recording, thinned ones included.")
		fmt.Fprintf(&b, "ingero_recording_calls %d\n", sum.Calls)
		metric("ingero_recording_last_event_timestamp_seconds", "gauge", "Unix time of the latest event's end.")
		fmt.Fprintf(&b, "ingero_recording_last_event_timestamp_seconds %.3f\n", float64(sum.Last)/1e9)
		metric("ingero_recording_losses", "gauge", "What could not be recorded, by kind.")
		lost := event.LossCounts(sum.Losses)
		for _, kind := range slices.Sorted(maps.Keys(lost)) {
			fmt.Fprintf(&b, "ingero_recording_losses{kind=%q} %d\n", kind, lost[kind])
		}
		return nil
	})
	if err != nil {
		a.opts.Logger.Debug("the recording cannot be read", "err", err)
		up = 0
		b.Reset()
	}
	metric("ingero_recording_up", "gauge", "Whether the recording can be read.")
	fmt.Fprintf(&b, "ingero_recording_up %d\n", up)
	return plain{metricsType, b.Bytes()}, nil
}
