// Package layout has no code: its test holds the packages against the table of what each may import.
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
	// What all share: the wire to the kernel, records, statistics, reports.
	{"bpf", ""},
	{"config", ""},
	{"docs", ""},
	{"event", ""},
	{"internal/lists", ""},
	{"stats", ""},
	{"event/eventtext", "event"},
	{"report", "event"},

	// What the machine says of itself.
	{"host/cgroup", ""},
	{"host/framework", ""},
	{"host/proc", ""},
	{"internal/elffile", ""},
	{"host/cudalib", "internal/elffile"},
	{"host/owner", "host/cgroup host/proc"},
	{"host/nvml", "host/cudalib"},

	// Names of addresses.
	{"symbol/kallsyms", "event"},
	{"symbol/gpukernel", ""},
	{"symbol/python", "bpf event host/proc internal/elffile"},
	{"symbol/addrspace", "host/proc"},
	{"symbol/elf", "event host/proc internal/elffile symbol/addrspace"},
	{"symbol/unwind", "host/proc symbol/addrspace"},

	// From the kernel to records.
	{"probe/kernel", "event"},
	{"probe/blockio", "bpf event probe/kernel"},
	{"probe/call", ""},
	{"probe/inflight", "bpf probe/kernel"},
	{"probe/kernelname", "probe/kernel"},
	{"probe/memory", "probe/kernel"},
	{"probe/pages", "bpf event probe/kernel"},
	{"probe/sched", "event"},
	{"probe/syscalls", "event probe/kernel"},
	{"probe/tcp", "event probe/kernel"},
	{"probe", `bpf event host/proc internal/elffile internal/lists probe/blockio probe/call probe/inflight
		probe/kernel probe/kernelname probe/memory probe/pages probe/sched probe/syscalls probe/tcp
		symbol/python symbol/unwind`},
	{"probe/cuda", "event host/cudalib probe"},
	{"probe/discover", "host/cudalib host/proc probe"},
	{"probe/driver", "event host/cudalib probe"},
	{"probe/nccl", "event host/cudalib probe"},
	{"probe/coverage", "event host/cudalib host/proc internal/elffile probe probe/discover"},
	{"probe/graph", "event probe probe/cuda"},
	{"probe/all", "probe probe/cuda probe/driver probe/graph probe/nccl"},
	{"internal/doctor", `host/cudalib host/nvml host/proc probe probe/all probe/coverage probe/memory symbol/python
		symbol/unwind`},

	// What is accounted for.
	{"collective", "event"},
	{"footprint", "event report"},
	{"ledger", "event"},
	{"memory", "event"},

	// What is kept.
	{"store", "event host/framework host/owner internal/lists stats"},
	{"recording", "event ledger report stats store"},
	{"store/sqlite", "event footprint host/framework host/owner stats store"},
	{"store/source", "recording store store/sqlite"},
	{"store/sqlite/storetest", "event store store/sqlite"},

	// Why a thread lost time.
	{"diagnose/cluster", "event report"},
	{"diagnose", "collective diagnose/cluster event footprint host/framework ledger recording report stats store"},
	{"diagnose/diagnosetest", `collective diagnose event event/eventtext host/framework host/owner memory
		recording stats store`},

	// The running tracer.
	{"agent", `collective diagnose event footprint host/cgroup host/cudalib host/framework
		host/nvml host/owner host/proc memory probe probe/all probe/discover report stats
		store symbol/elf symbol/kallsyms symbol/gpukernel symbol/python`},
	{"live", "event report store"},

	// Programs that tell the truth about themselves.
	{"internal/cudastub", ""},
	{"internal/kerneltest", ""},
	{"probe/probetest", "event internal/kerneltest probe"},
	{"internal/rig", "agent diagnose host/proc internal/cudastub probe report store store/sqlite"},
	{"demo", "agent diagnose internal/cudastub internal/rig probe report store"},

	// What is sent and served.
	{"dashboard", ""},
	{"export/parquet", ""},
	{"metrics", "event report store"},
	{"nodeapi/lanes", "event recording store"},
	{"nodeapi/wire", "report store"},
	{"webserver", ""},
	{"export", "event export/parquet report store"},
	{"fleet", "nodeapi/wire report store"},
	{"mcpserver", "webserver"},
	{"nodeapi", "diagnose event nodeapi/lanes nodeapi/wire recording report stats store webserver"},
	{"mcptool", `demo diagnose docs event fleet internal/doctor recording report store
		symbol/gpukernel`},

	// Measurements, tests, and what generates.
	{"bench/agent", "mcptool recording store/source"},
	{"dashboard/e2e/made", "event store store/sqlite store/sqlite/storetest"},
	{"demo/record", "demo diagnose probe report store"},
	{"internal/collectortest", ""},
	{"internal/cudastub/embedded", "internal/cudastub"},
	{"internal/cudastub/variants", "internal/cudastub"},
	{"internal/doctable", ""},
	{"internal/e2e", "internal/kerneltest internal/rig probe"},
	{"internal/gen", "event metrics nodeapi"},
	{"internal/mcpconformance", ""},
	{"internal/nvidiatest", ""},
	{"internal/pythontest", ""},
	{"internal/real", ""},
	{"internal/terminal", ""},
	{"internal/vm", "probe"},
	{"internal/testnet", "internal/kerneltest"},
	{"bench/numbers", "bench/agent event internal/cudastub report"},
	{"internal/hollow", "host/nvml internal/cudastub internal/real"},
	{"internal/mcpconformance/cmd", "internal/mcpconformance mcpserver webserver"},
	{"internal/vm/cmd", "internal/vm"},
	{"internal/vm/guest", "internal/vm probe"},
	{"internal/hollow/cmd", "internal/hollow"},
	{"internal/hollow/nvlibs", "internal/hollow internal/real"},
	{"internal/real/realtest", `agent event internal/doctable internal/hollow internal/kerneltest probe store
		store/sqlite`},
	{"internal/real/jax", "internal/hollow internal/hollow/nvlibs internal/real"},
	{"internal/real/llama", "internal/hollow internal/hollow/nvlibs internal/real"},
	{"internal/real/onnx", "internal/hollow internal/hollow/nvlibs internal/real"},
	{"internal/real/torch", "internal/hollow internal/hollow/nvlibs internal/real"},
	{"bench", `event export internal/cudastub internal/hollow internal/real/llama probe
		probe/cuda probe/driver report store store/sqlite store/sqlite/storetest`},
	{"bench/accuracy", `bench/agent bench/numbers diagnose event internal/cudastub internal/hollow
		internal/real/llama internal/real/torch internal/rig probe report stats`},

	// The command line and the terminal.
	{"tui", "agent event fleet nodeapi/wire report store live"},
	{"cmd/ingero", `agent bench bench/accuracy bench/agent config dashboard demo diagnose event
		export fleet host/proc internal/cudastub internal/doctor mcpserver mcptool
		metrics nodeapi probe probe/coverage recording report store store/source
		store/sqlite tui webserver`},
}

// ofFiles are the packages that open the files of recordings: the command line, and what makes
// recordings for tests and measurements. All others are handed a recording, and ask it by the
// interfaces of store and recording. The agent is given its store.Writer.
var ofFiles = []string{
	"cmd/ingero", "store/source", "store/sqlite/storetest",
	"bench", "bench/agent", "dashboard/e2e/made", "internal/real/realtest", "internal/rig",
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
