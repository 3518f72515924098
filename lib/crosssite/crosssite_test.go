package crosssite_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ingero-io/ingero/lib/crosssite"
	"github.com/ingero-io/ingero/lib/crosssite/crosssitetest"
)

func TestPagesOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	crosssitetest.Try(t, crosssite.Handler(ok, true), "/")
}

// A server that other machines reach has names that it does not know.
func TestAnyNameOfAServerThatOthersReach(t *testing.T) {
	t.Parallel()
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for host, origin := range map[string]string{"fleet.example:4318": "", "gpu-5": "http://gpu-5", "[::1]:80": "http://[::1]:80"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		w := httptest.NewRecorder()
		crosssite.Handler(ok, false).ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Errorf("%s, %s: %d %s", host, origin, w.Code, w.Body)
		}
	}
}
