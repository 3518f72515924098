package hostile

// The most memory that programs may take, in MiB.
const (
	maxServerMiB = 600
	maxTracerMiB = 200
)

// Targets is the list of what is attacked.
var Targets = []Target{
	{Name: "fleet", MaxMiB: maxServerMiB, Start: startFleet},
	{Name: "collector", MaxMiB: maxServerMiB, Start: startCollector},
	{Name: "echo OTLP", MaxMiB: maxServerMiB, Start: startEchoOTLP},
	{Name: "echo SQL", MaxMiB: maxServerMiB, Start: startEchoSQL},
	{Name: "mcp SQL", MaxMiB: maxServerMiB, Start: startMCPSQL},
	{Name: "mcp HTTP", MaxMiB: maxServerMiB, Start: startMCP},
	{Name: "node API", MaxMiB: maxServerMiB, Start: startNode},
	{Name: "query", MaxMiB: maxServerMiB, Long: true, Start: startQuery},
	{Name: "recordings", MaxMiB: maxServerMiB, Long: true, Start: startRecordings},
	{Name: "ingero.yaml", MaxMiB: maxServerMiB, Start: startConfig},
	{Name: "live tracer", MaxMiB: maxServerMiB, Kernel: true, Start: startLive},
	{Name: "sockets", MaxMiB: maxTracerMiB, Kernel: true, Start: startSockets},
	{Name: "libraries", MaxMiB: maxTracerMiB, Kernel: true, Start: startLibraries},
	{Name: "names", MaxMiB: maxTracerMiB, Kernel: true, Start: startNames},
}
