// Package gpukernel makes the names of GPU kernels readable: symbols of host
// functions, and names that programs register. It does not find them; the agent
// does.
package gpukernel

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// stubPrefix is what nvcc puts before the mangled name of the function that
// launches a kernel. The kernel's own name begins at its last underscore.
const stubPrefix = "__device_stub_"

// maxLength limits readable names to 1<<maxLength bytes.
const maxLength = 12

// Linked returns the kernel's own symbol, given that of its host function:
// "_Z3addPf" for "__device_stub__Z3addPf".
func Linked(symbol string) string {
	if rest, ok := strings.CutPrefix(symbol, stubPrefix); ok && rest != "" {
		return rest
	}
	return symbol
}

// Readable returns a kernel's demangled name, without its parameters and its
// result: "softmax_kernel<float>". A name that is not mangled stays as it is.
func Readable(symbol string) string {
	symbol = Linked(symbol)
	name, err := demangle.ToString(symbol, demangle.NoParams, demangle.NoEnclosingParams, demangle.MaxLength(maxLength))
	if err != nil {
		return symbol
	}
	return strings.TrimPrefix(name, "void ")
}
