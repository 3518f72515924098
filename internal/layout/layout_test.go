// Package layout has no code: its test compares each package's imports with the table of what it may
// import.
package layout_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ingero-io/ingero/"

// row is a package, and what it imports of this module. Tests may import more.
type row struct{ name, imports string }

// table has the packages in the order of the data, from the kernel to the reader: each imports
// only what stands above it. A new import is a line changed here, where it is seen.
var table = []row{
	// What all share: the wire format of the kernel's records, records, statistics,
	// reports.
	{"capture/bpf", ""},
	{"internal/commands", ""},
	{"internal/smallfile", ""},
	{"internal/config", "internal/smallfile"},
	{"internal/crosssite", ""},
	{"internal/crosssite/crosssitetest", ""},
	{"internal/fewlogs", ""},
	{"docs", ""},
	{"event", ""},
	{"internal/lists", ""},
	{"internal/netns", ""},
	{"packaging", ""},
	{"internal/servetest", ""},
	{"internal/tested", ""},
	{"internal/unixsocket", ""},
	{"account/stats", ""},
	{"event/eventtest", "event"},
	{"event/eventtext", "event"},
	{"internal/plain", ""},
	{"explain/report", "event internal/plain"},
	{"capture/privilege", ""},

	// Readers of the machine.
	{"capture/limit", "capture/privilege"},
	{"capture/host/cgroup", "capture/limit"},
	{"capture/host/framework", ""},
	{"capture/host/proc", "capture/limit capture/privilege"},
	{"internal/elffile", "capture/limit"},
	{"capture/host/cudalib", "capture/limit internal/elffile"},
	{"capture/host/owner", "capture/host/cgroup capture/host/proc capture/limit capture/privilege"},
	{"capture/host/nvml", "capture/host/cudalib"},
	{"capture/host/tracers", "capture/host/proc"},
	{"capture/label", ""},
	{"capture/label/socket", "capture/host/proc capture/label event internal/unixsocket"},

	// Names of addresses.
	{"capture/symbol/kallsyms", "event"},
	{"capture/symbol/gpukernel", ""},
	{"capture/symbol/python", `capture/bpf event capture/host/proc capture/limit internal/elffile
		capture/privilege`},
	{"capture/symbol/addrspace", "capture/host/proc capture/limit internal/lists"},
	{"capture/symbol/elf", "event capture/host/proc capture/limit internal/elffile capture/symbol/addrspace"},
	{"capture/symbol/unwind", `capture/host/proc capture/limit internal/elffile capture/symbol/addrspace
		capture/privilege`},

	// From the kernel to records.
	{"capture/probe/kernel", "event"},
	{"capture/probe/blockio", "capture/bpf event capture/probe/kernel"},
	{"capture/probe/call", ""},
	{"capture/probe/gpukernel", "capture/probe/kernel"},
	{"capture/probe/inflight", "capture/bpf capture/probe/kernel"},
	{"capture/probe/memory", "capture/probe/kernel"},
	{"capture/probe/pages", "capture/bpf event capture/probe/kernel"},
	{"capture/probe/sched", "event"},
	{"capture/probe/syscalls", "event capture/probe/kernel"},
	{"capture/probe/tcp", "event capture/probe/kernel"},
	{"capture/probe", `capture/bpf event capture/host/proc capture/limit internal/elffile internal/lists
		capture/probe/blockio capture/probe/call capture/probe/gpukernel capture/probe/inflight
		capture/probe/kernel capture/probe/memory capture/probe/pages capture/probe/sched capture/probe/syscalls
		capture/probe/tcp capture/symbol/python capture/symbol/unwind capture/privilege`},
	{"capture/probe/cuda", "event capture/host/cudalib capture/probe"},
	{"capture/probe/discover", "capture/host/cudalib capture/host/proc capture/probe capture/privilege"},
	{"capture/probe/driver", "event capture/host/cudalib capture/probe"},
	{"capture/probe/nccl", "event capture/host/cudalib capture/probe"},
	{"capture/probe/nvtx", "event capture/host/cudalib capture/probe"},
	{"capture/probe/coverage", `event capture/host/cudalib capture/host/proc capture/limit internal/elffile
		capture/probe capture/probe/discover capture/privilege`},
	{"capture/probe/graph", "event capture/probe capture/probe/cuda"},
	{"capture/probe/all", `capture/probe capture/probe/cuda capture/probe/driver capture/probe/graph
		capture/probe/nccl capture/probe/nvtx`},
	{"internal/doctor", `capture/host/cudalib capture/host/nvml capture/host/proc capture/probe
		capture/probe/all capture/probe/coverage capture/probe/memory capture/symbol/python
		capture/symbol/unwind internal/tested capture/privilege capture/host/tracers`},

	// What is accounted for.
	{"account/collective", "event"},
	{"account/footprint", "event explain/report"},
	{"account/ledger", "event"},
	{"account/memory", "event"},

	// Which rank of a job is slow.
	{"cluster/health", ""},
	{"cluster/ownwork", "account/collective cluster/health event"},
	{"cluster/replicas", "cluster/health"},
	{"cluster/simulate", "cluster/health cluster/replicas"},
	{"cluster/wire", "cluster/health internal/plain"},
	{"cluster/rawcodec", ""},
	{"cluster/cohorts", "cluster/health cluster/wire"},
	{"cluster/fleetserver", "cluster/cohorts cluster/health cluster/rawcodec cluster/wire"},
	{"cluster/fleetclient", "cluster/health cluster/rawcodec cluster/replicas cluster/wire internal/smallfile"},
	{"cluster/load", "cluster/health cluster/rawcodec cluster/wire"},
	{"cluster/eventsocket", "cluster/wire internal/unixsocket"},
	{"cluster/agentsocket", "cluster/wire internal/unixsocket"},
	{"cluster/sink", "cluster/health cluster/wire"},
	{"cluster/cmd/straggler-sink", `cluster/eventsocket cluster/sink cluster/wire internal/commands
		internal/plain internal/crosssite internal/fewlogs`},
	{"cluster/cmd/ingero-fleet", `cluster/cohorts cluster/fleetserver cluster/health cluster/load
		cluster/simulate cluster/wire internal/commands internal/smallfile internal/plain internal/crosssite
		internal/fewlogs`},

	// What is kept.
	{"store", "event capture/host/framework capture/host/owner internal/lists account/stats"},
	{"cluster/node", "cluster/health cluster/ownwork cluster/wire event store"},
	{"cluster/arrivals", "event store"},
	{"cluster/fleetagent", "cluster/node cluster/wire store"},
	{"explain/recording", "event account/ledger explain/report account/stats store"},
	{"store/sqlite", `event account/footprint capture/host/framework capture/host/owner account/stats store
		internal/lists`},
	{"store/apart", "store store/sqlite"},
	{"store/source", "explain/recording store store/sqlite"},
	{"store/sqlite/storetest", "event store store/sqlite"},
	{"internal/hostile/recording", "store/sqlite store/sqlite/storetest"},
	{"internal/hostile/statement", ""},

	// Why a thread lost time.
	{"explain/difference", "event explain/report"},
	{"explain/change", "event explain/difference account/ledger explain/report account/stats store"},
	{"explain/diagnose/cluster", "event explain/report"},
	{"explain/diagnose/pattern", "explain/report"},
	{"explain/diagnose", `account/collective explain/change explain/diagnose/cluster explain/diagnose/pattern
		event account/footprint capture/host/framework account/ledger explain/recording
		explain/report account/stats store`},
	{"explain/label", "event explain/diagnose explain/recording explain/report store"},
	{"explain/compare", "event explain/diagnose explain/difference explain/recording explain/report store"},
	{"explain/diagnose/diagnosetest", `account/collective explain/diagnose event event/eventtext
		capture/host/framework capture/host/owner account/memory explain/recording account/stats store`},

	// The running tracer.
	{"agent", `account/collective explain/change explain/diagnose event account/footprint capture/host/cgroup
		capture/host/cudalib capture/host/framework capture/host/nvml capture/host/owner capture/host/proc
		capture/limit account/memory capture/label/socket capture/probe capture/probe/all capture/probe/discover
		cluster/node explain/report account/stats internal/lists store capture/symbol/elf capture/symbol/kallsyms
		capture/symbol/gpukernel capture/symbol/python capture/privilege`},
	{"account/live", "event explain/report store"},

	// Programs that measure themselves.
	{"internal/cudastub", ""},
	{"internal/hostile/elffile", ""},
	{"internal/kerneltest", ""},
	{"capture/probe/probetest", "event internal/kerneltest capture/probe"},
	{"internal/rig", `agent event explain/compare explain/diagnose explain/recording capture/host/proc internal/cudastub capture/probe explain/report
		store store/sqlite`},
	{"demo", "agent explain/diagnose internal/cudastub internal/rig capture/probe explain/report store"},

	// What is sent and served.
	{"serve/dashboard", ""},
	{"export/parquet", ""},
	{"metrics", "cluster/arrivals cluster/health cluster/wire event explain/report store internal/crosssite"},
	{"serve/nodeapi/lanes", "event explain/recording store"},
	{"serve/nodeapi/wire", "explain/report store"},
	{"serve/webserver", "internal/smallfile internal/crosssite"},
	{"export", "event export/parquet explain/report store internal/plain"},
	{"fleet", "explain/compare serve/nodeapi/wire explain/report store internal/plain"},
	{"serve/mcpserver", "serve/webserver"},
	{"serve/mcpshape", "internal/plain"},
	{"serve/nodeapi", `explain/compare explain/diagnose event serve/nodeapi/lanes serve/nodeapi/wire explain/recording
		explain/report account/stats store serve/webserver`},
	{"serve/mcptool", `demo explain/compare explain/diagnose docs event fleet internal/doctor explain/recording explain/report
		serve/mcpshape store capture/symbol/gpukernel`},

	// Measurements, tests, and what generates.
	{"bench/agent", "serve/mcptool explain/recording store/source"},
	{"serve/dashboard/e2e/made", "event store store/sqlite store/sqlite/storetest"},
	{"demo/record", "demo explain/diagnose capture/probe explain/report store"},
	{"internal/collectortest", ""},
	{"internal/cudastub/embedded", "internal/cudastub"},
	{"internal/cudastub/variants", "internal/cudastub"},
	{"internal/doctable", ""},
	{"internal/e2e", "internal/kerneltest internal/rig capture/probe"},
	{"internal/e2e/fleetlive", ""},
	{"internal/gen", "event metrics serve/nodeapi"},
	{"internal/mcpconformance", ""},
	{"internal/hostile", "internal/cudastub internal/hostile/elffile internal/hostile/recording internal/hostile/statement"},
	{"internal/nvidiatest", ""},
	{"internal/pythontest", ""},
	{"internal/real", ""},
	{"internal/terminal", ""},
	{"internal/vm", "capture/probe"},
	{"internal/testnet", "internal/kerneltest"},
	{"bench/numbers", "bench/agent event internal/cudastub explain/report"},
	{"bench/soak", "internal/cudastub explain/report"},
	{"bench/soak/cmd", "bench/soak"},
	{"internal/hollow", "capture/host/nvml internal/cudastub internal/real"},
	{"internal/mcpconformance/cmd", "internal/mcpconformance serve/mcpserver serve/webserver"},
	{"internal/vm/cmd", "internal/vm"},
	{"internal/hostile/cmd", "internal/hostile"},
	{"internal/vm/guest", "internal/vm capture/probe"},
	{"internal/hollow/nvlibs", "internal/hollow internal/real"},
	{"internal/real/realtest", `agent event internal/doctable internal/hollow internal/kerneltest capture/probe
		store store/sqlite`},
	{"internal/real/jax", "internal/hollow internal/hollow/nvlibs internal/real"},
	{"internal/real/llama", "internal/hollow internal/hollow/nvlibs internal/real"},
	{"internal/real/onnx", "internal/hollow internal/hollow/nvlibs internal/real"},
	{"internal/real/torch", "internal/hollow internal/hollow/nvlibs internal/real"},
	{"internal/hollow/cmd", "internal/hollow internal/real/torch"},
	{"internal/real/cmd", "internal/real/jax internal/real/llama internal/real/onnx internal/real/torch"},
	{"bench", `event export internal/cudastub internal/hollow internal/real/llama capture/probe
		capture/probe/cuda capture/probe/driver explain/report store store/sqlite store/sqlite/storetest`},
	{"bench/accuracy", `bench/agent bench/numbers explain/compare explain/diagnose event internal/cudastub internal/hollow
		internal/real/llama internal/real/torch internal/rig capture/probe explain/report account/stats`},
	{"bench/straggler", "cluster/health cluster/wire internal/cudastub internal/netns internal/rig"},

	// The command line and the terminal.
	{"tui", "agent event fleet serve/nodeapi/wire explain/report store account/live"},
	{"cmd/ingero", `agent bench bench/accuracy bench/agent bench/straggler internal/config internal/smallfile
		serve/dashboard demo cluster/agentsocket cluster/arrivals cluster/eventsocket cluster/fleetagent
		cluster/fleetclient cluster/health cluster/node cluster/wire explain/compare explain/diagnose
		explain/label event export fleet capture/host/proc capture/label capture/label/socket internal/commands
		internal/cudastub internal/doctor serve/mcpserver serve/mcptool metrics serve/nodeapi capture/probe
		capture/probe/coverage explain/recording explain/report store store/apart store/source store/sqlite tui
		serve/webserver internal/plain capture/privilege internal/fewlogs capture/host/tracers`},
}

// ofFiles are the packages that open the files of recordings: the command line, and packages
// that make recordings for tests and measurements. All others are given a recording, and query
// it by the interfaces of store and recording. The agent is given its store.Writer.
var ofFiles = []string{
	"cmd/ingero", "store/apart", "store/source", "store/sqlite/storetest",
	"internal/hostile/recording", "bench", "bench/agent", "serve/dashboard/e2e/made", "internal/real/realtest", "internal/rig",
}

func TestFewOpenFiles(t *testing.T) {
	for _, r := range table {
		for i := range strings.FieldsSeq(r.imports) {
			if (i == "store/sqlite" || i == "store/source") && !slices.Contains(ofFiles, r.name) {
				t.Errorf("%s imports %s; let cmd/ingero hand it a recording.Source or a store.Reader", r.name, i)
			}
		}
	}
}

func TestImportsPointUp(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	real := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		var own []string
		words := strings.Fields(line)
		for _, w := range words[1:] {
			if name, ok := strings.CutPrefix(w, module); ok {
				own = append(own, name)
			}
		}
		slices.Sort(own)
		real[strings.TrimPrefix(words[0], module)] = own
	}
	above := map[string]bool{}
	for _, r := range table {
		want := strings.Fields(r.imports)
		for _, w := range want {
			if !above[w] {
				t.Errorf("%s imports %s, which does not stand above it", r.name, w)
			}
		}
		above[r.name] = true
		got, ok := real[r.name]
		switch slices.Sort(want); {
		case !ok:
			t.Errorf("there is no package %s", r.name)
		case !slices.Equal(got, want):
			t.Errorf("%s imports %q; the table says %q", r.name, got, want)
		}
		delete(real, r.name)
	}
	for name := range real {
		if name != "internal/layout" {
			t.Errorf("%s is not in the table", name)
		}
	}
}
