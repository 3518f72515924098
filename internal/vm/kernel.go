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
	Version  string          // the first numbers of the release
	Pages    int             // KiB of a page, of arm64's kernels with larger ones than usual; 0: 4
	Archive  string          // of Debian, below the mirror
	Suite    string          // in which it is
	Source   string          // the package of its source, from which it is built: there is no package of it
	Backends []probe.Backend // that must work, best first; none: tracing is refused
	Whole    bool            // it needs the whole processor (Arch.Off)
	Few      bool            // only the tests that show that programs load and work, for when time is short
}

var multi = []probe.Backend{probe.BackendMulti, probe.BackendPerf}

// Kernels are the kernels to test, oldest first: the last one that the tracer does not
// support, the first one with each back end or close to it, and the newest; and for arm64 those with larger pages.
var Kernels = []Kernel{
	{Version: "5.10", Archive: "debian-security", Suite: "bullseye-security"},
	{Version: "6.1", Archive: "debian-security", Suite: "bookworm-security", Backends: multi[1:]},
	{Version: "6.12", Archive: "debian", Suite: "bookworm-backports", Backends: multi},
	{Version: "6.12", Pages: 16, Archive: "debian", Suite: "bookworm-backports", Backends: multi},
	{
		Version: "6.12", Pages: 64, Archive: "debian", Suite: "bookworm-backports", Source: "linux-source-6.12",
		Backends: multi,
	},
	{Version: "6.18", Archive: "debian", Suite: "trixie-backports", Backends: probe.Backends},
	{Version: "7.2", Archive: "debian", Suite: "trixie-backports", Backends: probe.Backends, Whole: true},
}

// Name is what the kernel is asked for by, such as 6.12 and 6.12-16k.
func (k *Kernel) Name() string {
	if k.Pages == 0 {
		return k.Version
	}
	return fmt.Sprintf("%s-%dk", k.Version, k.Pages)
}

// On is the architecture that the kernel runs on when one is asked for: one with larger pages is for arm64 alone.
func (k *Kernel) On(asked Arch) Arch {
	if k.Pages > 0 {
		return arm64
	}
	return asked
}

// Check says whether what ran was such a kernel.
func (k *Kernel) Check(r *Result) error {
	if want := max(k.Pages, 4); r.Pages != want {
		return fmt.Errorf("%s has pages of %d KiB, not %d", r.Release, r.Pages, want)
	}
	return nil
}

// All means every kernel.
const All = "all"

// Choose returns the kernels of a comma-separated list, or all that there are for an architecture.
func Choose(names string, arch Arch) ([]Kernel, error) {
	if names == All {
		return slices.DeleteFunc(slices.Clone(Kernels), func(k Kernel) bool { return k.On(arch).Go != arch.Go }), nil
	}
	var chosen []Kernel
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(Kernels, func(k Kernel) bool { return k.Name() == name })
		if i < 0 {
			return nil, fmt.Errorf("no kernel %q: there are %s and %s", name, namesOf(Kernels), All)
		}
		chosen = append(chosen, Kernels[i])
	}
	return chosen, nil
}

func namesOf(kernels []Kernel) string {
	var names []string
	for i := range kernels {
		names = append(names, kernels[i].Name())
	}
	return strings.Join(names, ", ")
}

// newest picks the kernel's latest package out of names. Debian's kernels for
// clouds boot without modules, and so do those with larger pages. Packages called linux-image hold a
// signed kernel; from 6.19 on they are empty, and linux-binary has it.
func (k *Kernel) newest(names []string, arch Arch) (string, bool) {
	flavour := "cloud-" + arch.Debian
	if k.Pages > 0 {
		flavour = fmt.Sprintf("%s-%dk", arch.Debian, k.Pages)
	}
	want := regexp.MustCompile(`^linux-(image|binary)-` + regexp.QuoteMeta(k.Version) + `\.\d.*-` + flavour + `$`)
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
