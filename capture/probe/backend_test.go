package probe_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// since are the first kernels with a back end. Some distributions' kernels have it
// earlier.
var since = map[probe.Backend][2]int{
	probe.BackendSession: {6, 13},
	probe.BackendMulti:   {6, 6},
	probe.BackendPerf:    {5, 15},
}

func TestTheBestBackendOfTheKernelIsChosen(t *testing.T) {
	kerneltest.Require(t)
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	best := probe.Backend("")
	for _, b := range probe.Backends {
		got, err := opened(t, b)
		v := since[b]
		must := major > v[0] || major == v[0] && minor >= v[1]
		switch {
		case err == nil && got != b:
			t.Errorf("%s was asked for, %s was chosen", b, got)
		case err != nil && (must || !errors.Is(err, probe.ErrUnsupported)):
			t.Errorf("%s on Linux %d.%d: %v", b, major, minor, err)
		case err == nil && best == "":
			best = b
		}
	}
	if got, err := opened(t, ""); got != best || err != nil {
		t.Errorf("%q was chosen (%v), %q is the best that works", got, err, best)
	}
}

// opened opens a tracer with the back end that is asked for, and says which it got.
func opened(t *testing.T, b probe.Backend) (probe.Backend, error) {
	t.Helper()
	tr, err := probe.Open(probe.Options{Backend: b, RingBytes: 1 << 20, NoLedger: true})
	if err != nil {
		return "", err
	}
	defer tr.Close()
	return tr.Backend(), nil
}

// A back end is tried on the program's own file, at its entry point. There the kernel would take the number of
// arguments for a return address, and replace it, in any process of that file that starts just then.
func TestProcessesOfTheSameProgramStartWhileABackendIsTried(t *testing.T) {
	kerneltest.Require(t)
	for _, b := range probe.Backends {
		t.Run(string(b), func(t *testing.T) {
			done := make(chan error, 1)
			go func() {
				var err error
				for range 5 {
					if _, e := opened(t, b); e != nil {
						err = e
					}
				}
				done <- err
			}()
			for n := 1; ; n++ {
				if out, err := exec.Command(os.Args[0], "-test.run=^$").CombinedOutput(); err != nil {
					t.Errorf("process %d: %v: %.200s", n, err, out)
				}
				select {
				case err := <-done:
					if err != nil && !errors.Is(err, probe.ErrUnsupported) {
						t.Error(err)
					}
					return
				default:
				}
			}
		})
	}
}
