//go:generate mdatagen metadata.yaml

// Package stragglerprocessor takes what agents push out of the metrics that pass, hands it to the threshold
// extension, and adds the middles of cohorts. It keeps nothing itself, and a restarted one is as good as the one
// before. What is decided is in cluster/health, and not here.
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
