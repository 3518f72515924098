package tested

// Kernel is a kernel on which tests ran.
type Kernel struct {
	Release string `json:"kernel"` // as uname -r prints it, or as much of it as was noted
	Arch    string `json:"arch"`   // as Go calls it
	From    string `json:"from"`   // the distribution whose kernel it is
	Suite   string `json:"suite"`  // the command that ran the tests
	What    string `json:"what"`   // was tested
	Runs    []Run  `json:"runs"`   // by back end, the best first
}

// Run is what came out with a back end.
type Run struct {
	Backend string `json:"backend"` // empty: none works, and tracing was refused
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Skipped int    `json:"-"` // notNoted: it is not known how many
	Seconds int    `json:"-"` // notNoted: it is not known how long it took
}

const notNoted = -1

// What suites test.
const (
	wholeSuite = "functions are attached to, calls are timed also on 64 threads, every call is accounted for, " +
		"an injected fault is explained"
	fewSuite = "the programs load and work, an injected fault is explained"
	noSuite  = "tracing is refused, with what would do"

	whole = "make test-vm"
	few   = "make test-vm FEW=1"
	arm64 = "make test-vm ARCH=arm64"

	pages16 = "make test-vm KERNEL=6.12-16k FEW=1"
	pages64 = "make test-vm KERNEL=6.12-64k FEW=1"
)

// Kernels are what "make test-vm" printed, oldest first; docs/kernels.md says of which versions.
var Kernels = []Kernel{
	{"5.10.0-46-cloud-amd64", "amd64", "Debian bullseye-security", whole, noSuite, []Run{{"", 1, 0, 0, 4}}},
	{"6.1.0-56-cloud-amd64", "amd64", "Debian bookworm-security", whole, wholeSuite, []Run{{"perf", 26, 0, 0, 224}}},
	{"6.1", "amd64", "Debian bookworm-security", few, fewSuite, []Run{{"perf", 15, 0, 0, notNoted}}},
	{
		"6.12.95+deb12-cloud-amd64", "amd64", "Debian bookworm-backports", whole, wholeSuite,
		[]Run{{"multi", 30, 0, 0, 158}, {"perf", 4, 0, 0, 54}},
	},
	{
		"6.12.95", "arm64", "Debian bookworm-backports", arm64, wholeSuite,
		[]Run{{"multi", 20, 0, notNoted, notNoted}, {"perf", 3, 0, notNoted, notNoted}},
	},
	{
		"6.12.95+deb12-arm64-16k", "arm64", "Debian bookworm-backports", pages16, fewSuite, []Run{{"multi", 11, 0, 0, 41}},
	},
	{
		"6.12.95-64k", "arm64", "Debian bookworm-backports, built from its source", pages64, fewSuite,
		[]Run{{"multi", 11, 0, 0, 35}},
	},
	{
		"6.18.15+deb13-cloud-amd64", "amd64", "Debian trixie-backports", whole, wholeSuite,
		[]Run{{"session", 30, 0, 0, 189}, {"multi", 4, 0, 0, 13}, {"perf", 4, 0, 0, 78}},
	},
	{
		"7.2.12+deb13-cloud-amd64", "amd64", "Debian trixie-backports", whole, wholeSuite,
		[]Run{{"session", 27, 0, 0, 127}, {"multi", 4, 0, 0, 9}, {"perf", 4, 0, 0, 22}},
	},
	{"7.2", "amd64", "Debian trixie-backports", few, fewSuite, []Run{{"session", 15, 0, 0, notNoted}}},
}
