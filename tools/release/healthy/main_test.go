package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestOnlyOKIsHealthy(t *testing.T) {
	code := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
	if err := run([]string{s.URL}); err != nil {
		t.Error(err)
	}
	code = http.StatusServiceUnavailable
	if err := run([]string{s.URL}); err == nil || !strings.Contains(err.Error(), "503") {
		t.Error(err)
	}
	s.Close()
	for _, args := range [][]string{{s.URL}, {"://"}, nil, {s.URL, s.URL}} {
		if run(args) == nil {
			t.Errorf("no error with %q", args)
		}
	}
}
