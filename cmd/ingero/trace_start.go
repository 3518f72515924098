package main

import (
	"fmt"
	"os"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/host/tracers"
)

// sayOthers says which other tracers run on this machine. All of them may go on.
func (t *tracing) sayOthers() {
	for _, o := range tracers.Others(proc.New(""), os.Getpid()) {
		fmt.Fprintf(t.log, "ingero: another tracer (%s) is running: %s\n", o, tracers.Cost)
	}
}
