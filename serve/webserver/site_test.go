package webserver_test

import (
	"net/http"
	"testing"

	"github.com/ingero-io/ingero/lib/crosssite/crosssitetest"
	"github.com/ingero-io/ingero/serve/webserver"
)

func TestPagesOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	crosssitetest.Try(t, webserver.Check(ok, webserver.Options{}), "/", "/api/v1/status", "/mcp")
}
