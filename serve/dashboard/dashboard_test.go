package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/serve/dashboard"
)

// ask has the handler answer, beside an API that says which path it was asked.
func ask(method, path string) *httptest.ResponseRecorder {
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("api: " + r.URL.Path)) // into memory
	})
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, "/", http.NoBody)
	r.URL.Path = path
	dashboard.Handler(api).ServeHTTP(w, r)
	return w
}

func TestPageHasAllFilesItRefersToAndNoOtherOrigins(t *testing.T) {
	w := ask(http.MethodGet, "/")
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	policy := w.Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy lacks %q: %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Errorf("the policy allows too much: %s", policy)
	}
	names := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(w.Body.String(), -1)
	if len(names) < 3 {
		t.Errorf("the page names %d files; a script, a style sheet and an icon were expected", len(names))
	}
	types := map[string]string{".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
	for _, n := range names {
		path, relative := strings.CutPrefix(n[1], "./")
		if !relative {
			t.Errorf("the page asks for %s", n[1])
			continue
		}
		f := ask(http.MethodGet, "/"+path)
		if want := types[path[strings.LastIndex(path, "."):]]; f.Code != http.StatusOK ||
			!strings.HasPrefix(f.Header().Get("Content-Type"), want) {
			t.Errorf("%s: %d %s, want %s", path, f.Code, f.Header().Get("Content-Type"), want)
		}
		if f.Header().Get("X-Content-Type-Options") != "nosniff" || f.Body.Len() == 0 {
			t.Errorf("%s: %v, %d bytes", path, f.Header(), f.Body.Len())
		}
	}
}

func TestPathsOutsideThePageGoToTheAPI(t *testing.T) {
	for _, path := range []string{
		"/api/v1/overview", "/metrics", "/dist/index.html", "/assets", "/assets/",
		"/../dashboard.go", "/assets/../../dashboard.go", "//", "/index.html/", "/%2e%2e/x",
	} {
		w := ask(http.MethodGet, path)
		if w.Code != http.StatusTeapot || w.Body.String() != "api: "+path {
			t.Errorf("%s: %d %.50s", path, w.Code, w.Body)
		}
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.URL.Path = path
		if dashboard.Public(r) {
			t.Errorf("%s needs no token", path)
		}
	}
	if r := httptest.NewRequest(http.MethodGet, "/", http.NoBody); !dashboard.Public(r) {
		t.Error("the page needs a token, so it cannot ask for it")
	}
	if w := ask(http.MethodPost, "/"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != http.MethodGet {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// TestEveryClassHasAColour compares the colours in style.css with the generated list of classes.
func TestEveryClassHasAColour(t *testing.T) {
	colours, err := os.ReadFile("web/src/style.css")
	if err != nil {
		t.Fatal(err)
	}
	swatches, err := os.ReadFile("web/src/components/swatch.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range event.Classes() {
		if name := "--" + strings.ReplaceAll(c.String(), "_", "-") + ": "; !strings.Contains(string(colours), name) {
			t.Errorf("style.css has no %s", name)
		}
		if name := ".class-" + c.String(); !strings.Contains(string(swatches), name+" ") &&
			!strings.Contains(string(swatches), name+",") {
			t.Errorf("swatch.css has no %s", name)
		}
	}
}
