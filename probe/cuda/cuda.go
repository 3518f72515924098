// Package cuda is the probe on the CUDA runtime API.
package cuda

import (
	"regexp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/probe"
)

// Library finds libcudart in its usual forms: libcudart.so.12,
// libcudart.so.11.8.89, and the hashed names of Python wheels,
// libcudart-d0da41ae.so.11.0.
func Library() *probe.Library {
	return &probe.Library{
		Name: "cuda",
		File: regexp.MustCompile(`^libcudart(-[0-9a-f]+)?\.so(\.[0-9]+)*$`),
		Ops:  event.BySource(event.SourceCUDA),
	}
}
