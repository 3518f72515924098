// Package cuda is the probe on the CUDA runtime API.
package cuda

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/host/cudalib"
	"github.com/ingero-io/ingero/probe"
)

// Library finds libcudart.
func Library() *probe.Library {
	return &probe.Library{
		Name: "cuda",
		File: cudalib.Runtime.File(),
		Ops:  event.BySource(event.SourceCUDA),
	}
}
