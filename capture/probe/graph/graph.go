// Package graph is the probe on the CUDA runtime's graph calls: how work is
// captured, made executable and launched as a whole.
package graph

import (
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/cuda"
	"github.com/ingero-io/ingero/event"
)

// Library finds libcudart, where the graph calls are, next to those of the
// package cuda.
func Library() *probe.Library {
	return &probe.Library{
		Name: "graph",
		File: cuda.Library().File,
		Ops:  event.BySource(event.SourceGraph),
	}
}
