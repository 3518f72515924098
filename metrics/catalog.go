package metrics

import (
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/event"
)

// Kind is how values of an instrument are aggregated.
type Kind string

// The kinds.
const (
	Counter   Kind = "counter"   // a sum that only grows
	Gauge     Kind = "gauge"     // the latest value
	UpDown    Kind = "updown"    // a sum that also falls
	Histogram Kind = "histogram" // a distribution, as exponential buckets
)

// Instrument is a row of the catalogue: one metric.
type Instrument struct {
	Name  string // as in OpenTelemetry
	Kind  Kind
	Unit  string // UCUM
	Attrs []string
	Doc   string // one sentence
}

// The attributes. Those without the prefix ingero are of OpenTelemetry's semantic
// conventions 1.43.
const (
	attrSource  = "ingero.source"
	attrOp      = "ingero.op"
	attrProcess = "process.executable.name"
	attrRank    = "ingero.rank"
	attrState   = "ingero.state"
	attrSpace   = "ingero.memory.space"
	attrCause   = "ingero.cause.kind"
	attrLevel   = "ingero.severity"
	attrLoss    = "ingero.loss.kind"
	attrError   = "error.type"
	attrHW      = "hw.id"
)

// Attributes describes each attribute.
var Attributes = []struct{ Name, Doc string }{
	{attrSource, "the library: CUDA, DRIVER, GRAPH or NCCL"},
	{attrOp, "the operation, as in events.md"},
	{attrProcess, "the process's name, as the kernel has it (at most 15 bytes)"},
	{attrRank, "its RANK; absent if it has none"},
	{attrState, "on_cpu, or the class of what a thread waited for: " + classes()},
	{attrSpace, "device or pinned"},
	{attrCause, "the cause of a finding, as in accuracy.md"},
	{attrLevel, "HIGH, MEDIUM or LOW"},
	{attrLoss, "what could not be recorded, as in the losses view"},
	{attrError, "the library's result code"},
	{attrHW, "the GPU's number"},
}

// classes lists the classes with their titles.
func classes() string {
	var list []string
	for c := range event.NumClasses {
		if c.Title() == c.String() {
			list = append(list, c.String())
		} else {
			list = append(list, fmt.Sprintf("%s (%s)", c, c.Title()))
		}
	}
	return strings.Join(list, ", ")
}

// Names of the instruments.
const (
	callDuration   = "ingero.call.duration"
	callErrors     = "ingero.call.errors"
	callBytes      = "ingero.call.io"
	threadTime     = "ingero.thread.time"
	callsInFlight  = "ingero.call.in_flight"
	collectiveWait = "ingero.collective.wait.duration"
	memoryUsed     = "ingero.gpu.memory.allocated"
	findingCount   = "ingero.findings"
	findingLost    = "ingero.finding.lost"
	losses         = "ingero.losses"
	tracerCPU      = "ingero.tracer.cpu.utilization"
	tracerMemory   = "ingero.tracer.memory.usage"
	tracerRing     = "ingero.tracer.ring.utilization"
	databaseSize   = "ingero.recording.size"
	otlpLost       = "ingero.otlp.lost"
	gpuUtilization = "hw.gpu.utilization"
	gpuMemory      = "hw.gpu.memory.usage"
	gpuMemoryLimit = "hw.gpu.memory.limit"
	gpuTemperature = "hw.temperature"
	gpuClock       = "ingero.gpu.clock.frequency"
	cpuUtilization = "system.cpu.utilization"
	memUtilization = "system.memory.utilization"
)

// Catalogue lists the metrics. The instruments and docs/metrics.md are made from it.
var Catalogue = []Instrument{
	{
		callDuration, Histogram, "s",
		[]string{attrSource, attrOp, attrProcess, attrRank},
		"Time that calls of CUDA and NCCL took.",
	},
	{
		callErrors, Counter, "{error}",
		[]string{attrSource, attrOp, attrProcess, attrRank, attrError},
		"Calls that returned an error.",
	},
	{
		callBytes, Counter, "By",
		[]string{attrSource, attrOp, attrProcess, attrRank},
		"Bytes that calls allocated, copied or set, by their own argument.",
	},
	{
		threadTime, Counter, "s",
		[]string{attrState, attrProcess, attrRank},
		"Where the time of outermost calls, and of the gaps between them that held a wait, went.",
	},
	{callsInFlight, Gauge, "{call}", nil, "Calls that have not returned after a second."},
	{
		collectiveWait, Histogram, "s",
		[]string{attrOp, attrProcess, attrRank},
		"Time that a synchronisation waited for a collective operation.",
	},
	{
		memoryUsed, UpDown, "By",
		[]string{attrSpace, attrProcess, attrRank},
		"Memory that a process allocated through CUDA and did not free.",
	},
	{findingCount, Gauge, "{finding}", []string{attrCause, attrLevel}, "Findings of the last diagnosis."},
	{
		findingLost, Gauge, "1",
		[]string{attrCause, attrLevel, attrProcess},
		"Share of a dispatching thread's time that the last diagnosis says is lost to a cause.",
	},
	{losses, Counter, "{event}", []string{attrLoss}, "What could not be recorded."},
	{tracerCPU, Gauge, "1", nil, "What the tracer itself used of one core."},
	{tracerMemory, Gauge, "By", nil, "The tracer's own resident memory."},
	{tracerRing, Gauge, "1", nil, "How full the ring of events is."},
	{databaseSize, Gauge, "By", nil, "Size of the recording."},
	{
		otlpLost, Counter, "{record}", nil,
		"Log records, spans and sums of collective operations that the receiver of --otlp did not get, or were too many.",
	},
	{gpuUtilization, Gauge, "1", []string{attrHW}, "Share of the last sample period in which a kernel was resident."},
	{gpuMemory, Gauge, "By", []string{attrHW}, "Memory of the GPU in use."},
	{gpuMemoryLimit, Gauge, "By", []string{attrHW}, "Memory of the GPU."},
	{gpuTemperature, Gauge, "Cel", []string{attrHW}, "Temperature of the GPU's core."},
	{gpuClock, Gauge, "Hz", []string{attrHW}, "Clock of the GPU's multiprocessors."},
	{cpuUtilization, Gauge, "1", nil, "Use of all CPUs of the machine."},
	{memUtilization, Gauge, "1", nil, "Use of the machine's memory."},
}
