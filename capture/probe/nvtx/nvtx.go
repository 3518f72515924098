// Package nvtx is the probe on NVTX 2, the library by which programs mark ranges of their
// own. NVTX 3 is headers only, compiled into each program: there is nothing to attach to.
package nvtx

import (
	"github.com/ingero-io/ingero/capture/host/cudalib"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
)

// Library finds libnvToolsExt, also under the names that Python wheels give it.
func Library() *probe.Library {
	return &probe.Library{
		Name: "nvtx",
		File: cudalib.NVTX.File(),
		Ops:  event.BySource(event.SourceNVTX),
	}
}
