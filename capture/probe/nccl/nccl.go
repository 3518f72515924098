// Package nccl is the probe on NCCL, the library in which the ranks of a job
// exchange data: when each entered a collective operation, with what.
package nccl

import (
	"github.com/ingero-io/ingero/capture/host/cudalib"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
)

// Library finds libnccl, also under the names that Python wheels give it.
func Library() *probe.Library {
	return &probe.Library{
		Name: "nccl",
		File: cudalib.NCCL.File(),
		Ops:  event.BySource(event.SourceNCCL),
	}
}
