package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/capture/label/socket"
	"github.com/ingero-io/ingero/capture/probe"
)

// traceFlags are the flags of trace.
type traceFlags struct {
	pids     []uint32
	user     string
	duration time.Duration
	db, out  string
	node     string
	stack    string
	asJSON   bool
	quiet    bool
	record   bool
	maxDB    string
	print    footprintFlag
	metrics  metricsFlags
	peers    peersFlags
	pages    bool
	inner    bool
	annotate string
	mcp      string
	serve    string
	fleet    nodeFlags // also for the configuration
}

// addFlags adds the flags of trace.
func (f *traceFlags) addFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.VarP((*pidList)(&f.pids), "pid", "p", "trace these processes and their children (4821,4822)")
	fl.StringVarP(&f.user, "user", "u", "", "trace the processes of this user (name or number)")
	fl.DurationVarP(&f.duration, "duration", "d", 0, "stop tracing after this long (60s); a COMMAND goes on")
	fl.StringVar(&f.db, "db", "",
		"record to this file; what is in it is kept (default $"+databaseEnv+", else ~/.ingero/ingero.db)")
	fl.StringVar(&f.out, "out", "", "another name for --db")
	fl.StringVar(&f.node, "node", "",
		"name of this machine in the recording (default that of ingero.yaml, else the host name)")
	fl.StringVar(&f.stack, "stack", string(probe.StackSlow), "which calls to take a stack of: slow, all or off")
	fl.BoolVar(&f.asJSON, "json", false, "print JSON lines: start, second, call (slow or failed), finding, summary")
	fl.BoolVar(&f.quiet, "quiet", false, "print only what is found, not a line a second (for a service)")
	fl.BoolVar(&f.record, "record", true, "keep what is traced in the database")
	fl.Var(&f.print, "footprint", "count system calls, files and sockets of every traced process; "+
		"=false: of none (default: only of --pid processes without a CUDA library)")
	fl.Lookup("footprint").NoOptDefVal = "true"
	fl.BoolVar(&f.pages, "pages", false, "count page allocations of each process, by the second (about 40 ns each)")
	fl.BoolVar(&f.inner, "inner-calls", false,
		"also count the launches, waits and copies of the driver that are made by calls of the runtime")
	fl.StringVar(&f.annotate, "annotate", "", "record labels that programs send to a socket, "+socket.System+
		" or another one (--annotate=PATH)")
	fl.Lookup("annotate").NoOptDefVal = annotateHere
	fl.StringVar(&f.maxDB, "max-db", "10g", "delete the oldest rows when the file grows beyond this; 0 for no limit")
	f.metrics.addFlags(cmd)
	f.peers.addFlags(cmd)
	fl.StringVar(&f.serve, "dashboard", "",
		"show the recording in a browser, and serve it to other nodes and AI agents, at this address while it is made "+
			"(127.0.0.1:8080)")
	f.fleet.addNodes(cmd)
	fl.Lookup("nodes").Usage = "also show these nodes in the view on the terminal (gpu-node-01:8080,gpu-node-02:8080; " +
		"default: the nodes in ingero.yaml)"
	fl.StringVar(&f.mcp, "mcp", "", "serve the recording to AI agents at this address while it is made (127.0.0.1:8443)")
}
