package metrics_test

import (
	"testing"

	"github.com/ingero-io/ingero/lib/crosssite/crosssitetest"
	"github.com/ingero-io/ingero/metrics"
)

// The server of --prometheus answers scrapers, and no page of another site.
func TestPagesOfOtherSitesGetNoMetrics(t *testing.T) {
	s, err := metrics.Scrape("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	crosssitetest.TryAt(t, s.Addr().String(), "/metrics", "/")
}
