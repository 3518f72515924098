// Package driver is the probe on the CUDA driver API.
package driver

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/host/cudalib"
	"github.com/ingero-io/ingero/probe"
)

// Library finds libcuda.
func Library() *probe.Library {
	return &probe.Library{
		Name: "driver",
		File: cudalib.Driver.File(),
		Ops:  event.BySource(event.SourceDriver),
	}
}
