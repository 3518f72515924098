// Package cuda is the probe on the CUDA runtime API.
package cuda

import (
	"github.com/ingero-io/ingero/capture/host/cudalib"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
)

// Library finds libcudart.
func Library() *probe.Library {
	return &probe.Library{
		Name: "cuda",
		File: cudalib.Runtime.File(),
		Ops:  event.BySource(event.SourceCUDA),
	}
}
