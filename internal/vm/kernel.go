// Package vm boots other kernels than the machine's own in qemu and runs the tests that
// need a kernel in them. The processor is emulated (TCG), so that it works without
// /dev/kvm, in containers and on other architectures. Times measured there mean
// nothing; counts do.
//
// A virtual machine gets a kernel of Debian's, and as its only file system an
// initramfs with the test programs, what these run, and the program in guest as
// init. Nothing of the system that runs it is changed.
package vm

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/capture/probe"
)

// Kernel is a kernel on which tests run.
type Kernel struct {
	Version  string          // as it is asked for: the first numbers of the release
	Archive  string          // of Debian, below the mirror
	Suite    string          // in which it is
	Backends []probe.Backend // that must work, best first; none: tracing is refused
	Whole    bool            // it needs the whole processor (Arch.Off)
	Few      bool            // only the tests that show that programs load and work, for when time is short
}

// Kernels are the kernels to test, oldest first: the last one that the tracer does not
// support, the first one with each back end or close to it, and the newest.
var Kernels = []Kernel{
	{"5.10", "debian-security", "bullseye-security", nil, false, false},
	{"6.1", "debian-security", "bookworm-security", []probe.Backend{probe.BackendPerf}, false, false},
	{"6.12", "debian", "bookworm-backports", []probe.Backend{probe.BackendMulti, probe.BackendPerf}, false, false},
	{"6.18", "debian", "trixie-backports", probe.Backends, false, false},
	{"7.2", "debian", "trixie-backports", probe.Backends, true, false},
}

// All means every kernel.
const All = "all"

// Choose returns the kernels of a comma-separated list.
func Choose(names string) ([]Kernel, error) {
	if names == All {
		return slices.Clone(Kernels), nil
	}
	var chosen []Kernel
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(Kernels, func(k Kernel) bool { return k.Version == name })
		if i < 0 {
			return nil, fmt.Errorf("no kernel %q: there are %s and %s", name, versions(), All)
		}
		chosen = append(chosen, Kernels[i])
	}
	return chosen, nil
}

func versions() string {
	var names []string
	for _, k := range Kernels {
		names = append(names, k.Version)
	}
	return strings.Join(names, ", ")
}

// newest picks the kernel's latest package out of names. Debian's kernels for
// clouds are those that boot without modules. Packages called linux-image hold a
// signed kernel; from 6.19 on they are empty, and linux-binary has it.
func (k *Kernel) newest(names []string, arch Arch) (string, bool) {
	want := regexp.MustCompile(`^linux-(image|binary)-` + regexp.QuoteMeta(k.Version) + `\.\d.*-cloud-` + arch.Debian +
		`$`)
	best := ""
	for _, name := range names {
		if want.MatchString(name) && (best == "" || comparePackages(best, name) < 0) {
			best = name
		}
	}
	return best, best != ""
}

var numbers = regexp.MustCompile(`\d+`)

// comparePackages compares the numbers in two names, and puts linux-binary above
// linux-image of the same kernel.
func comparePackages(a, b string) int {
	na, nb := numbers.FindAllString(a, -1), numbers.FindAllString(b, -1)
	c := slices.CompareFunc(na, nb, func(x, y string) int {
		if len(x) != len(y) {
			return len(x) - len(y)
		}
		return strings.Compare(x, y)
	})
	if c == 0 {
		return strings.Compare(b, a)
	}
	return c
}
