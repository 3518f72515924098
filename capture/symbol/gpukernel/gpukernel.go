// Package gpukernel makes the names of GPU kernels readable: those of host
// functions' symbols and those that programs register. It finds none; the agent
// does.
package gpukernel

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// stubPrefix is what nvcc puts before the mangled name of the function that
// launches a kernel. The kernel's own name begins at its last underscore.
const stubPrefix = "__device_stub_"

// maxLength ends readable names after 1<<maxLength bytes.
const maxLength = 12

// Linked returns the kernel's own symbol, given that of its host function:
// "_Z3addPf" for "__device_stub__Z3addPf".
func Linked(symbol string) string {
	if rest, ok := strings.CutPrefix(symbol, stubPrefix); ok && rest != "" {
		return rest
	}
	return symbol
}

// Readable returns a kernel's name for people, without its parameters and its
// result: "softmax_kernel<float>". What is no mangled name stays as it is.
func Readable(symbol string) string {
	symbol = Linked(symbol)
	name, err := demangle.ToString(symbol, demangle.NoParams, demangle.NoEnclosingParams, demangle.MaxLength(maxLength))
	if err != nil {
		return symbol
	}
	return strings.TrimPrefix(name, "void ")
}
