package stragglerprocessor

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
)

// Config of the processor.
type Config struct {
	// Extension is the threshold extension that keeps the cohorts.
	Extension component.ID `mapstructure:"extension"`
	// Interval is the time between two points of a cohort's metrics; 0: no metrics of cohorts.
	Interval time.Duration `mapstructure:"interval"`
	// MaxCohorts bounds the cohorts with metrics. Each has about ten series.
	MaxCohorts int `mapstructure:"max_cohorts"`
}

var _ component.Config = (*Config)(nil)

// Limits of a configuration.
const (
	leastInterval = time.Second
	mostCohorts   = 10_000
)

// Validate reports what is wrong with a configuration.
func (c *Config) Validate() error {
	switch {
	case c.Extension == component.ID{}:
		return errors.New("extension: is missing; the usual one is threshold")
	case c.Interval != 0 && c.Interval < leastInterval:
		return fmt.Errorf("interval: is %s; %s at least, or 0 for no metrics of cohorts", c.Interval, leastInterval)
	case c.MaxCohorts < 1 || c.MaxCohorts > mostCohorts:
		return fmt.Errorf("max_cohorts: is %d; from 1 to %d", c.MaxCohorts, mostCohorts)
	}
	return nil
}
