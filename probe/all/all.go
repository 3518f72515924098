// Package all is the list of library probes.
package all

import (
	"github.com/ingero-io/ingero/probe"
	"github.com/ingero-io/ingero/probe/cuda"
	"github.com/ingero-io/ingero/probe/driver"
)

// Libraries returns every library probe. A new one is one line here.
func Libraries() []*probe.Library {
	return []*probe.Library{
		cuda.Library(),
		driver.Library(),
	}
}
