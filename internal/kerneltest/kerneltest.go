// Package kerneltest decides whether tests that load eBPF programs can run.
package kerneltest

import (
	"os"
	"testing"
)

// RequireEnv makes missing privileges a failure instead of a skip. CI sets it where
// root and BTF are available, so that a passing run has tested the kernel.
const RequireEnv = "INGERO_REQUIRE_KERNEL"

// Backend is the environment variable for the only back end that tests use. If it is
// empty, tests of back ends use each of them, and other tests the best one. Package vm
// sets it to each back end in turn. It is the variable that ingero itself reads.
func Backend() string { return os.Getenv("INGERO_BACKEND") }

// Require skips the test unless this process may trace, or fails it if
// INGERO_REQUIRE_KERNEL is set.
func Require(t testing.TB) {
	t.Helper()
	why := ""
	if os.Geteuid() != 0 {
		why = "needs root to load eBPF programs"
	} else if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		why = "needs a kernel with BTF"
	}
	if why != "" {
		Lacks(t, why)
	}
}

// Lacks skips the test because the machine lacks something, or fails it if
// INGERO_REQUIRE_KERNEL is set.
func Lacks(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(RequireEnv) != "" {
		t.Fatalf("%s, and %s is set", why, RequireEnv)
	}
	t.Skip(why)
}
