// Package driver is the probe on the CUDA driver API.
package driver

import (
	"github.com/ingero-io/ingero/capture/host/cudalib"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
)

// Library finds libcuda.
func Library() *probe.Library {
	return &probe.Library{
		Name: "driver",
		File: cudalib.Driver.File(),
		Ops:  event.BySource(event.SourceDriver),
	}
}
