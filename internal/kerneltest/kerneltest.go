// Package kerneltest decides whether tests that load eBPF programs can run.
package kerneltest

import (
	"os"
	"testing"
)

// RequireEnv makes missing privileges a failure instead of a skip; CI sets it
// where root and BTF are there, so that a green run did test the kernel.
const RequireEnv = "INGERO_REQUIRE_KERNEL"

// Backend is the one back end that tests are to use; empty: each that a test is
// about, and the best in other tests. Where kernels without some of them are tried
// (package vm), each is asked for in turn. It is ingero's own variable.
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
