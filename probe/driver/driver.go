// Package driver is the probe on the CUDA driver API.
package driver

import (
	"regexp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/probe"
)

// Library finds libcuda: libcuda.so.1 and the versioned file behind it,
// libcuda.so.535.261.03.
func Library() *probe.Library {
	return &probe.Library{
		Name: "driver",
		File: regexp.MustCompile(`^libcuda\.so(\.[0-9]+)*$`),
		Ops:  event.BySource(event.SourceDriver),
	}
}
