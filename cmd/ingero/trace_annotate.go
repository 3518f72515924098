package main

import (
	"fmt"
	"os"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/label/socket"
)

// annotateHere is the value of --annotate without a path.
const annotateHere = "default"

// annotate begins to listen for labels of programs, if that was asked for. The run closes the socket.
func (t *tracing) annotate(f *traceFlags) error {
	if f.annotate == "" {
		return nil
	}
	if !f.record {
		return usage("--annotate records labels; leave out --record=false")
	}
	o := socket.Options{Path: f.annotate, Home: t.c.env("HOME"), Proc: proc.New("")}
	if o.Path == annotateHere {
		o.Path = ""
	}
	var err error
	if t.opts.Labels, err = socket.Listen(o); err != nil {
		return err
	}
	path := t.opts.Labels.Path()
	fmt.Fprintf(t.log, "ingero: programs can set labels at %s\n", path)
	return os.Setenv(socket.PathEnv, path) // for a traced command
}
