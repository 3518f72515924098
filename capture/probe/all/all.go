// Package all is the list of library probes.
package all

import (
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/cuda"
	"github.com/ingero-io/ingero/capture/probe/driver"
	"github.com/ingero-io/ingero/capture/probe/graph"
	"github.com/ingero-io/ingero/capture/probe/nccl"
	"github.com/ingero-io/ingero/capture/probe/nvtx"
)

// Libraries returns every library probe, those on the same files joined. A new
// one is one line here.
func Libraries() []*probe.Library {
	return probe.Join(
		cuda.Library(),
		driver.Library(),
		graph.Library(),
		nccl.Library(),
		nvtx.Library(),
	)
}
