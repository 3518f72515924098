//go:generate mdatagen metadata.yaml

// Package stragglerprocessor takes agents' pushes out of the metrics that pass, hands them to the threshold
// extension, and adds metrics of cohorts. It has no state, so it can be restarted at any time. All decisions are in
// cluster/health.
package stragglerprocessor

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processorhelper"

	"github.com/ingero-io/ingero/collector/stragglerprocessor/internal/metadata"
)

// NewFactory returns the factory of the processor.
func NewFactory() processor.Factory {
	return processor.NewFactory(metadata.Type, defaultConfig, processor.WithMetrics(create, metadata.MetricsStability))
}

func defaultConfig() component.Config {
	return &Config{Extension: component.MustNewID("threshold"), Interval: 10 * time.Second, MaxCohorts: 1000}
}

func create(
	ctx context.Context, set processor.Settings, c component.Config, next consumer.Metrics,
) (processor.Metrics, error) {
	s, err := newStraggler(c.(*Config), set.TelemetrySettings, next)
	if err != nil {
		return nil, err
	}
	return processorhelper.NewMetrics(ctx, set, c, forward{next, s}, s.process, processorhelper.WithStart(s.start),
		processorhelper.WithShutdown(s.shutdown), processorhelper.WithCapabilities(consumer.Capabilities{MutatesData: true}))
}
