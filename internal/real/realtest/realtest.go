// Package realtest is for tests that need programs by other authors: "make real" runs them.
package realtest

import (
	"os"
	"testing"
)

// Env is the variable that enables such tests.
const Env = "INGERO_REAL"

// Require skips a test unless real programs may be fetched and run.
func Require(t testing.TB) {
	t.Helper()
	if os.Getenv(Env) == "" {
		t.Skip("needs real programs, which are fetched: run make real")
	}
}
