package main

import (
	"io"
	"strings"
	"testing"
	"time"
)

// What the flags do is tested live: internal/e2e/fleetlive.
func TestFlagsOfAFleet(t *testing.T) {
	for args, want := range map[string]string{
		"--fleet grpc://fleet:4317/path":          "invalid endpoint",
		"--fleet ftp://fleet":                     "unknown scheme",
		"--cluster east":                          "--fleet HOST:4318",
		"--events":                                "--fleet HOST:4318",
		"--fleet https://f:1 --fleet-ca /no/file": "all or none",
	} {
		c := &console{in: strings.NewReader(""), out: io.Discard, err: io.Discard, env: func(k string) string {
			return map[string]string{"HOME": t.TempDir()}[k]
		}, now: time.Now}
		root := newRoot(c)
		root.SetArgs(append([]string{"trace", "--json", "--record=false", "--duration", "1ms"}, strings.Fields(args)...))
		if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
