package kerneltest

import (
	"os/exec"
	"testing"
)

// GCC compiles with these arguments, warnings being errors.
func GCC(t *testing.T, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		Lacks(t, "gcc is missing")
	}
	out, err := exec.Command("gcc", append([]string{"-O1", "-Wall", "-Werror"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
