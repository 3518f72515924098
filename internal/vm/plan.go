package vm

import (
	"path"
	"strings"

	"github.com/ingero-io/ingero/capture/probe"
)

// suite is a package whose tests run in virtual machines.
type suite struct {
	pkg string // below the module
	run string // the tests, as go test -run takes them
	few string // the tests of these that show that programs load and work; empty: none
	// others are the tests that run also with the kernel's other back ends than the
	// best. Those of perf take ten seconds each, to detach.
	others string
	// shell says that the tests run programs of this machine, which there are only
	// for its own architecture.
	shell bool
}

// suites are the tests for kernels that can trace. Tests that need no kernel, or that
// need an idle machine, are not here: accuracy and cost are measured on real
// processors.
var suites = []suite{
	{
		pkg: "capture/probe",
		run: "TestEveryOperation|Nest|Recursion|Longjmp|Threads|Fork|Device|Results|Graph|PIDLinks|Shapes|" +
			"DoesNotReturn|MapWatcher",
		few: "TestEveryOperation|Nested|Fork|DoesNotReturn|MapWatcher", others: "TestEveryOperation|Nested|Longjmp|SixtyFour",
	},
	{pkg: "capture/probe", run: "BestBackend|Sockets", few: "BestBackend", shell: true},
	{pkg: "capture/probe/memory", run: "Reclaim.*Recorded|Compaction", shell: true},
	{pkg: "capture/probe/syscalls", run: "MakeRoom", few: "MakeRoom", shell: true},
	{pkg: "capture/probe/pages", run: "PagesAreCounted", few: "PagesAreCounted"},
	{pkg: "capture/host/proc", run: "UsageOfThisProcess", few: "UsageOfThisProcess"},
	{pkg: "capture/probe/tcp", run: "IPv6", few: "IPv6", shell: true},
	{pkg: "capture/probe/nccl", run: "EveryFunction", few: "EveryFunction"},
	{pkg: "agent", run: "Starts|ACommand|Descendants|Late|Ends", few: "ACommandIs"},
	{
		pkg: "internal/e2e", run: "TestEveryCallIsAccountedFor|TestFirstCauseIsTheInjectedOne/lock-held-50-ms|AQuotaGiven",
		few: "TestFirstCauseIsTheInjectedOne/lock-held-50-ms|AQuotaGiven",
	},
	{pkg: "cmd/ingero", run: "TestKernelScript/(check|command)", few: "TestKernelScript/check", shell: true},
	// the last: nothing can be traced after it
	{pkg: "cmd/ingero", run: "TestLockedDown", few: "TestLockedDown", shell: true},
}

// refusals are the tests for kernels that cannot trace.
var refusals = []suite{
	{pkg: "cmd/ingero", run: "TestOldKernelsAreRefused"},
}

// left are tests of the suites that are too slow under emulation, with the reason; for
// one back end only, if it is named.
var left = []struct {
	test    string
	backend probe.Backend
	why     string
}{
	{"TestDurationsAgreeWithTheCallersClock", "", "compares two clocks to 5 us"},
	{"TestACommandThatIgnoresSIGTERMIsKilled", "", "needs a shell, and waits for six seconds"},
	{"TestACommandsPythonPackages", "", "needs Python"},
	{"TestMissedCallsOfALibraryAttachedLate", "", "needs Python"},
	{"TestEveryCallIsAccountedFor/(10k|100k|300k|perf|flat)", "", "an emulated processor makes fewer calls a second"},
	{
		"TestAProcessThatStartsAfterTheTracerIsExact", probe.BackendPerf,
		"begins once the first library is attached to; then the second takes a second",
	},
}

// steps are the runs of a kernel's suites.
func steps(k *Kernel, arch Arch, native bool) []Step {
	list := suites
	if len(k.Backends) == 0 {
		list = refusals
	}
	var s []Step
	for _, u := range list {
		if u.shell && !native {
			continue
		}
		if len(k.Backends) == 0 {
			s = append(s, u.step("", u.run))
			continue
		}
		if k.Few {
			if u.few != "" {
				s = append(s, u.step(string(k.Backends[0]), u.few))
			}
			continue
		}
		s = append(s, u.step(string(k.Backends[0]), u.run))
		if u.others == "" {
			continue
		}
		for _, b := range k.Backends[1:] {
			s = append(s, u.step(string(b), u.others))
		}
	}
	return s
}

func (u *suite) step(backend, run string) Step {
	var skip []string
	for _, l := range left {
		if l.backend == "" || string(l.backend) == backend {
			skip = append(skip, l.test)
		}
	}
	return Step{
		Package: u.pkg, Backend: backend, Dir: path.Join("/src", u.pkg),
		Args: []string{
			u.program(), "-test.v", "-test.timeout=5m", "-test.run=" + run,
			"-test.skip=" + strings.Join(skip, "|"),
		},
	}
}

// program is where the package's test program is in the virtual machine.
func (u *suite) program() string { return "/tests/" + path.Base(u.pkg) + ".test" }
