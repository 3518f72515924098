package main

import (
	"fmt"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// TestOldKernelsAreRefused runs on kernels older than those that can trace, which
// make test-vm KERNEL=5.10 boots.
func TestOldKernelsAreRefused(t *testing.T) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	release := unix.ByteSliceToString(u.Release[:])
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		t.Fatalf("release %q: %v", release, err)
	}
	if major > 5 || major == 5 && minor >= 15 {
		t.Skipf("Linux %s can trace", release)
	}
	testscript.Run(t, params("testdata/refused"))
}
