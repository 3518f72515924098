package vm

import (
	"fmt"
	"strings"
)

// Arch is an architecture that is emulated.
type Arch struct {
	Go      string   // GOARCH
	Debian  string   // what Debian calls it
	Qemu    string   // the emulator
	Package string   // it is in
	Machine []string // that is emulated, if there is a choice
	CPU     string   // in it
	Off     string   // what is switched off of it for kernels that do without
	Kernel  string   // what the kernel's build calls the architecture
	Cross   string   // how the names of its compiler begin on other architectures
	Console string   // the kernel's name of the serial port
	Libs    []string // where this machine has the architecture's libraries
	LibsIn  string   // the package that has them
}

// The supported architectures. The emulated processor has every feature that
// the emulator knows, except cmpxchg16b for kernels that do not need it: qemu 7.2
// leaves wrong flags after it (a double fault in the allocator of 6.12 showed that).
// From 7.0 on the kernel's allocator needs it to give programs the memory of a thread's
// storage. Pointer authentication uses an algorithm that is fast to emulate.
var (
	amd64 = Arch{
		Go: "amd64", Debian: "amd64", Qemu: "qemu-system-x86_64", Package: "qemu-system-x86",
		CPU: "max", Off: ",cx16=off", Console: "ttyS0",
		Libs: []string{"/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"}, LibsIn: "libc6",
	}
	arm64 = Arch{
		Go: "arm64", Debian: "arm64", Qemu: "qemu-system-aarch64", Package: "qemu-system-arm",
		Machine: []string{"-machine", "virt,gic-version=3"}, CPU: "max,pauth-impdef=on", Console: "ttyAMA0",
		Kernel: "arm64", Cross: "aarch64-linux-gnu-",
		Libs: []string{"/usr/aarch64-linux-gnu/lib"}, LibsIn: "libc6-arm64-cross",
	}
	arches = []Arch{amd64, arm64}
)

// ArchOf is the architecture with this GOARCH.
func ArchOf(name string) (Arch, error) {
	var names []string
	for _, a := range arches {
		if a.Go == name {
			return a, nil
		}
		names = append(names, a.Go)
	}
	return Arch{}, fmt.Errorf("no architecture %q: there are %s", name, strings.Join(names, " and "))
}
