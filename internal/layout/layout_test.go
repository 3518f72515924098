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
	// Small helpers without a subject of their own.
	{"lib/plain", ""},
	{"lib/commands", "lib/plain"},
	{"lib/smallfile", ""},
	{"lib/config", "lib/smallfile"},
	{"lib/crosssite", ""},
	{"lib/crosssite/crosssitetest", ""},
	{"lib/fewlogs", ""},
	{"lib/latest", ""},
	{"lib/unixsocket", ""},

	// Texts that programs carry.
	{"docs", ""},
	{"packaging", ""},

	// What a record is: kinds, causes, statistics.
	{"event", ""},
	{"event/eventtest", "event"},
	{"event/lists", ""},
	{"event/stats", ""},

	// From the machine and the kernel to records.
	{"capture/bpf", ""},
	{"capture/privilege", ""},
	{"capture/limit", "capture/privilege"},
	{"capture/elffile", "capture/limit"},
	{"capture/host/cudalib", "capture/elffile capture/limit"},
	{"capture/host/nvml", "capture/host/cudalib"},
	{"capture/host/proc", "capture/limit capture/privilege"},
	{"capture/host/setting", "capture/host/proc capture/limit event"},
	{"capture/host/tracers", "capture/host/proc"},
	{"capture/probe/kernel", "event"},
	{"capture/probe/blockio", "capture/bpf capture/probe/kernel event"},
	{"capture/probe/call", ""},
	{"capture/probe/codesample", "capture/probe/kernel event"},
	{"capture/probe/gpukernel", "capture/probe/kernel"},
	{"capture/probe/inflight", "capture/bpf capture/probe/kernel"},
	{"capture/probe/memory", "capture/probe/kernel"},
	{"capture/probe/pages", "capture/bpf capture/probe/kernel event"},
	{"capture/probe/sched", "event"},
	{"capture/probe/syscalls", "capture/probe/kernel event"},
	{"capture/probe/tcp", "capture/probe/kernel event"},
	{"capture/symbol/python", "capture/bpf capture/elffile capture/host/proc capture/limit capture/privilege event"},
	{"capture/symbol/addrspace", "capture/host/proc capture/limit event/lists"},
	{"capture/symbol/unwind", `capture/elffile capture/host/proc capture/limit capture/privilege capture/symbol/addrspace`},
	{"capture/probe", `capture/bpf capture/elffile capture/host/proc capture/limit capture/privilege capture/probe/blockio
		capture/probe/call capture/probe/codesample capture/probe/gpukernel capture/probe/inflight capture/probe/kernel
		capture/probe/memory capture/probe/pages capture/probe/sched capture/probe/syscalls
		capture/probe/tcp capture/symbol/python capture/symbol/unwind event event/lists`},
	{"capture/probe/cuda", "capture/host/cudalib capture/probe event"},
	{"capture/probe/driver", "capture/host/cudalib capture/probe event"},
	{"capture/probe/graph", "capture/probe capture/probe/cuda event"},
	{"capture/probe/nccl", "capture/host/cudalib capture/probe event"},
	{"capture/probe/nvtx", "capture/host/cudalib capture/probe event"},
	{"capture/probe/all", `capture/probe capture/probe/cuda capture/probe/driver capture/probe/graph capture/probe/nccl
		capture/probe/nvtx`},
	{"capture/probe/discover", "capture/host/cudalib capture/host/proc capture/privilege capture/probe"},
	{"capture/probe/coverage", `capture/elffile capture/host/cudalib capture/host/proc capture/limit capture/privilege capture/probe
		capture/probe/discover event`},
	{"capture/tested", ""},
	{"capture/doctor", `capture/host/cudalib capture/host/nvml capture/host/proc capture/host/setting
		capture/host/tracers capture/privilege capture/probe capture/probe/all capture/probe/coverage capture/probe/memory
		capture/symbol/python capture/symbol/unwind capture/tested event`},
	{"capture/host/cgroup", "capture/limit"},
	{"capture/host/framework", ""},
	{"capture/host/owner", "capture/host/cgroup capture/host/proc capture/limit capture/privilege"},
	{"capture/label", ""},
	{"capture/label/socket", "capture/host/proc capture/label event lib/unixsocket"},
	{"internal/kerneltest", ""},
	{"capture/probe/probetest", "capture/probe event internal/kerneltest"},
	{"capture/symbol/elf", "capture/elffile capture/host/proc capture/limit capture/symbol/addrspace event"},
	{"capture/symbol/gpukernel", ""},
	{"capture/symbol/kallsyms", "event"},

	// What is kept.
	{"store", "capture/host/framework capture/host/owner event event/lists event/stats"},
	{"store/sqlite", "capture/host/framework capture/host/owner event event/lists event/stats store"},
	{"store/apart", "store store/sqlite"},
	{"store/eventtext", "capture/host/framework capture/host/owner event store"},
	{"store/sqlite/storetest", "event store store/sqlite"},

	// Sums over records.
	{"account/collective", "event"},
	{"account/ledger", "event event/stats"},
	{"account/memory", "event"},

	// Why a thread lost time.
	{"explain/report", "event lib/plain"},
	{"explain/difference", "event explain/report"},
	{"explain/change", "account/ledger event event/stats explain/difference explain/report store"},
	{"explain/diagnose/cluster", "event event/stats explain/report"},
	{"explain/diagnose/pattern", "event/stats explain/report"},
	{"explain/footprint", "event explain/report"},
	{"explain/recording", "account/ledger event event/stats explain/report store"},
	{"explain/code", "event"},
	{"explain/diagnose", `account/collective account/ledger capture/host/framework event event/stats explain/change explain/code
		explain/diagnose/cluster explain/diagnose/pattern explain/footprint explain/recording explain/report
		store`},
	{"explain/compare", "event explain/diagnose explain/difference explain/recording explain/report store"},
	{"explain/diagnose/diagnosetest", `account/collective account/memory event event/lists event/stats explain/diagnose explain/recording
		store store/eventtext`},
	{"explain/label", "event explain/diagnose explain/recording explain/report store"},
	{"explain/source", "explain/recording store store/sqlite"},

	// Which rank of a job is slow.
	{"cluster/health", ""},
	{"cluster/wire", "cluster/health lib/plain"},
	{"cluster/agentsocket", "cluster/wire lib/unixsocket"},
	{"cluster/arrivals", "event store"},
	{"cluster/cohorts", "cluster/health cluster/wire event/stats"},
	{"cluster/rawcodec", ""},
	{"cluster/fleetserver", "cluster/cohorts cluster/health cluster/rawcodec cluster/wire"},
	{"cluster/load", "cluster/health cluster/rawcodec cluster/wire event/stats"},
	{"cluster/replicas", "cluster/health"},
	{"cluster/simulate", "cluster/health cluster/replicas event/stats"},
	{"cluster/cmd/ingero-fleet", `cluster/cohorts cluster/fleetserver cluster/health cluster/load cluster/simulate cluster/wire
		lib/commands lib/crosssite lib/fewlogs lib/plain lib/smallfile`},
	{"cluster/eventsocket", "cluster/wire lib/unixsocket"},
	{"cluster/sink", "cluster/health cluster/wire"},
	{"cluster/cmd/straggler-sink", `cluster/eventsocket cluster/sink cluster/wire lib/commands lib/crosssite lib/fewlogs lib/plain`},
	{"cluster/ownwork", "account/collective cluster/health event"},
	{"cluster/node", "cluster/health cluster/ownwork cluster/wire event store"},
	{"cluster/fleetagent", "cluster/node cluster/wire store"},
	{"cluster/fleetclient", "cluster/health cluster/rawcodec cluster/replicas cluster/wire lib/smallfile"},
	{"cluster/peers", `cluster/agentsocket cluster/eventsocket cluster/fleetagent cluster/health cluster/node cluster/wire
		event explain/report store`},

	// Data for other tools.
	{"export/parquet", ""},
	{"export", "event explain/report export/parquet lib/plain store"},
	{"metrics", "cluster/arrivals cluster/health cluster/wire event explain/report lib/crosssite lib/latest store"},

	// The running tracer.
	{"agent", `account/collective account/memory capture/host/cgroup capture/host/cudalib capture/host/framework
		capture/host/nvml capture/host/owner capture/host/proc capture/host/setting capture/label/socket
		capture/limit capture/privilege capture/probe capture/probe/all capture/probe/discover capture/symbol/elf
		capture/symbol/gpukernel capture/symbol/kallsyms capture/symbol/python cluster/node event
		event/lists event/stats explain/change explain/diagnose explain/footprint explain/report store`},

	// Answers to browsers, agents and other nodes.
	{"serve/dashboard", ""},
	{"serve/dashboard/e2e/made", "event store store/sqlite store/sqlite/storetest"},
	{"serve/webserver", "lib/crosssite lib/smallfile"},
	{"serve/mcpserver", "serve/webserver"},
	{"serve/mcpshape", "lib/plain"},
	{"serve/nodeapi/wire", "event explain/report store"},
	{"serve/nodes", "event explain/compare explain/report lib/plain serve/nodeapi/wire store"},
	{"serve/mcptool", `capture/doctor capture/symbol/gpukernel docs event explain/compare explain/diagnose
		explain/recording explain/report serve/mcpshape serve/nodes store`},
	{"serve/nodeapi/lanes", "event explain/recording store"},
	{"serve/nodeapi", `event event/stats explain/compare explain/diagnose explain/recording explain/report
		serve/nodeapi/lanes serve/nodeapi/wire serve/webserver store`},

	// The terminal.
	{"tui/live", "event explain/report store"},
	{"tui", "agent event explain/report serve/nodeapi/wire serve/nodes store tui/live"},
	{"internal/cudastub", ""},
	{"internal/rig", `agent capture/host/proc capture/probe event explain/compare explain/diagnose explain/recording
		explain/report internal/cudastub store store/sqlite`},

	// Known faults, measurements, tests, and what generates.
	{"demo", "agent capture/probe event explain/report internal/cudastub internal/rig store"},
	{"demo/record", "capture/probe demo event explain/report store"},
	{"internal/real", ""},
	{"internal/hollow", "capture/host/nvml internal/cudastub internal/real"},
	{"internal/hollow/nvlibs", "internal/hollow internal/real"},
	{"internal/real/llama", "internal/hollow internal/hollow/nvlibs internal/real"},
	{"bench", `capture/probe capture/probe/cuda capture/probe/driver event explain/report export internal/cudastub
		internal/hollow internal/real/llama store store/sqlite store/sqlite/storetest`},
	{"bench/agent", "explain/recording explain/source serve/mcptool"},
	{"bench/numbers", "bench/agent event explain/report internal/cudastub"},
	{"internal/real/torch", "internal/hollow internal/hollow/nvlibs internal/real"},
	{"bench/accuracy", `bench/agent bench/numbers capture/probe event event/stats explain/compare explain/diagnose
		explain/report internal/cudastub internal/hollow internal/real/llama internal/real/torch
		internal/rig`},
	{"bench/reports", "bench/agent event explain/report internal/hollow internal/real/torch"},
	{"bench/soak", "event explain/report internal/cudastub"},
	{"bench/soak/cmd", "bench/soak"},
	{"internal/netns", ""},
	{"bench/straggler", "cluster/health cluster/wire internal/cudastub internal/netns internal/rig"},
	{"internal/collectortest", ""},
	{"internal/cudastub/embedded", "internal/cudastub"},
	{"internal/cudastub/variants", "internal/cudastub"},
	{"internal/doctable", ""},
	{"internal/e2e", "capture/probe internal/kerneltest internal/rig"},
	{"internal/e2e/fleetlive", ""},
	{"internal/gen", "event metrics serve/nodeapi"},
	{"internal/hollow/cmd", "internal/hollow internal/real/torch"},
	{"internal/hostile/elffile", ""},
	{"internal/hostile/recording", "store/sqlite store/sqlite/storetest"},
	{"internal/hostile/statement", ""},
	{"internal/hostile", `internal/cudastub internal/hostile/elffile internal/hostile/recording internal/hostile/statement`},
	{"internal/hostile/cmd", "internal/hostile"},
	{"internal/mcpconformance", ""},
	{"internal/mcpconformance/cmd", "internal/mcpconformance serve/mcpserver serve/webserver"},
	{"internal/nvidiatest", ""},
	{"internal/pythontest", ""},
	{"internal/real/jax", "internal/hollow internal/hollow/nvlibs internal/real"},
	{"internal/real/onnx", "internal/hollow internal/hollow/nvlibs internal/real"},
	{"internal/real/cmd", "internal/real/jax internal/real/llama internal/real/onnx internal/real/torch"},
	{"internal/real/realtest", `agent capture/probe event internal/doctable internal/hollow internal/kerneltest store store/sqlite`},
	{"internal/scripttest", ""},
	{"internal/servetest", ""},
	{"internal/terminal", ""},
	{"internal/testnet", "internal/kerneltest"},
	{"internal/vm", "capture/probe"},
	{"internal/vm/cmd", "internal/vm"},
	{"internal/vm/guest", "capture/probe internal/vm"},

	// The command line.
	{"cmd/ingero", `agent capture/doctor capture/host/proc capture/host/tracers capture/label capture/label/socket
		capture/privilege capture/probe capture/probe/coverage cluster/agentsocket cluster/arrivals
		cluster/eventsocket cluster/fleetclient cluster/peers cluster/wire demo event explain/compare
		explain/diagnose explain/label explain/recording explain/report explain/source export
		internal/cudastub lib/commands lib/config lib/fewlogs lib/latest lib/plain lib/smallfile metrics
		serve/dashboard serve/mcpserver serve/mcptool serve/nodeapi serve/nodes serve/webserver store
		store/apart store/sqlite tui`},
	{"cmd/ingero-bench", `bench bench/accuracy bench/agent bench/reports bench/straggler capture/doctor capture/privilege capture/probe
		explain/report lib/commands`},
}

// ofFiles are the packages that open the files of recordings: the command line, and packages
// that make recordings for tests and measurements. All others are given a recording, and query
// it by the interfaces of store and recording. The agent is given its store.Writer.
var ofFiles = []string{
	"cmd/ingero", "store/apart", "explain/source", "store/sqlite/storetest",
	"internal/hostile/recording", "bench", "bench/agent", "serve/dashboard/e2e/made", "internal/real/realtest", "internal/rig",
}

func TestFewOpenFiles(t *testing.T) {
	for _, r := range table {
		for i := range strings.FieldsSeq(r.imports) {
			if (i == "store/sqlite" || i == "explain/source") && !slices.Contains(ofFiles, r.name) {
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
