package thresholdextension

import (
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/lib/crosssite/crosssitetest"
)

func TestPagesOfOtherSitesAreRefused(t *testing.T) {
	e, err := newThreshold(defaultConfig().(*Config), componenttest.NewNopTelemetrySettings())
	if err != nil {
		t.Fatal(err)
	}
	crosssitetest.Try(t, e.handler(), "/", wire.CohortsPath, wire.PollPath)
}
