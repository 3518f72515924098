// Package metrics sends what the tracer sees to monitoring systems: as OpenTelemetry
// metrics and logs, pushed over OTLP or scraped by Prometheus. The catalogue is the
// only list of what there is; docs/metrics.md is generated from it. How many series
// there can be is bounded, whatever the traced processes do.
package metrics

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/lib/latest"
	"github.com/ingero-io/ingero/store"
)

// maxSeries bounds the series of one metric. What comes later is added up in a
// series of its own, with the attribute otel.metric.overflow.
const maxSeries = 2000

// histogramBuckets and histogramScale bound a histogram: scale 5 has 32 buckets an
// octave, so that the error of a quantile is at most 1.1 %, while all values lie within
// five octaves; it is halved for each doubling of that range.
const (
	histogramBuckets = 160
	histogramScale   = 5
)

// Metrics is a set of the catalogue's instruments. Its methods are for one goroutine;
// readers may be of another.
type Metrics struct {
	provider   *sdk.MeterProvider
	histograms map[string]metric.Float64Histogram
	counters   map[string]metric.Float64Counter
	gauges     map[string]metric.Float64Gauge
	sums       map[string]metric.Float64UpDownCounter
	processes  map[uint32]*process // that are traced
	others     latest.Map[uint32, process]
	calls      map[callKey]metric.MeasurementOption
	states     map[stateKey]metric.MeasurementOption
	held       map[heldKey]uint64     // bytes
	findings   map[findingKey]float64 // as told last, so that those that went become 0
	lost       map[lostKey]float64
	unsent     uint64 // as told last
}

// process is what series are told apart by.
type process struct {
	name string
	rank int
}

type callKey struct {
	pid uint32
	op  event.Op
}

type stateKey struct {
	pid   uint32
	class event.Class
}

type heldKey struct {
	pid   uint32
	space event.Space
}

type findingKey struct {
	cause    string
	severity event.Severity
}

type lostKey struct {
	cause    string
	severity event.Severity
	process  string
}

// Sender is who sends: the node, its cluster (empty: not known), and the program's version.
type Sender struct{ Node, Cluster, Version string }

// identity describes the machine and the program.
func (s *Sender) identity() *resource.Resource {
	attrs := []attribute.KeyValue{
		semconv.ServiceName("ingero"), semconv.ServiceVersion(s.Version), semconv.ServiceInstanceID(s.Node),
		semconv.HostName(s.Node),
	}
	if s.Cluster != "" {
		attrs = append(attrs, attribute.String(attrCluster, s.Cluster))
	}
	return resource.NewWithAttributes(semconv.SchemaURL, attrs...)
}

// New makes the instruments for readers.
func New(of Sender, readers ...sdk.Reader) (*Metrics, error) {
	exponential := sdk.NewView(sdk.Instrument{Kind: sdk.InstrumentKindHistogram}, sdk.Stream{
		Aggregation: sdk.AggregationBase2ExponentialHistogram{MaxSize: histogramBuckets, MaxScale: histogramScale},
	})
	opts := []sdk.Option{
		sdk.WithResource(of.identity()), sdk.WithView(exponential),
		sdk.WithCardinalityLimit(maxSeries),
	}
	for _, r := range readers {
		opts = append(opts, sdk.WithReader(r))
	}
	m := &Metrics{
		provider:   sdk.NewMeterProvider(opts...),
		histograms: map[string]metric.Float64Histogram{}, counters: map[string]metric.Float64Counter{},
		gauges: map[string]metric.Float64Gauge{},
		sums:   map[string]metric.Float64UpDownCounter{}, held: map[heldKey]uint64{},
		processes: map[uint32]*process{}, others: latest.New[uint32, process](maxOthers),
		calls:    map[callKey]metric.MeasurementOption{},
		states:   map[stateKey]metric.MeasurementOption{},
		findings: map[findingKey]float64{}, lost: map[lostKey]float64{},
	}
	meter := m.provider.Meter("github.com/ingero-io/ingero")
	for i := range Catalogue {
		if err := m.instrument(meter, &Catalogue[i]); err != nil {
			return nil, fmt.Errorf("metric %s: %w", Catalogue[i].Name, err)
		}
	}
	return m, nil
}

func (m *Metrics) instrument(meter metric.Meter, i *Instrument) (err error) {
	unit, doc := metric.WithUnit(i.Unit), metric.WithDescription(i.Doc)
	switch i.Kind {
	case Histogram:
		m.histograms[i.Name], err = meter.Float64Histogram(i.Name, unit, doc)
	case Counter:
		m.counters[i.Name], err = meter.Float64Counter(i.Name, unit, doc)
	case UpDown:
		m.sums[i.Name], err = meter.Float64UpDownCounter(i.Name, unit, doc)
	case Gauge:
		m.gauges[i.Name], err = meter.Float64Gauge(i.Name, unit, doc)
	}
	return err
}

// Close sends what is left.
func (m *Metrics) Close(ctx context.Context) error { return m.provider.Shutdown(ctx) }

// Batch adds what was recorded.
func (m *Metrics) Batch(b *store.Batch) {
	ctx := context.Background()
	for i := range b.Processes {
		m.named(&b.Processes[i])
	}
	for i := range b.Calls {
		m.call(ctx, &b.Calls[i])
	}
	for i := range b.Gaps {
		m.spent(ctx, b.Gaps[i].PID, b.Gaps[i].Duration, &b.Gaps[i].Ledger)
	}
	for i := range b.Collectives {
		c := &b.Collectives[i]
		if ns, ok := c.Wait(); ok {
			m.histograms[collectiveWait].Record(ctx, seconds(ns), m.callSet(c.PID, c.Op))
		}
	}
	for i := range b.Memory {
		if pid := b.Memory[i].PID; !slices.Contains(b.Ended, pid) { // else it is what it had at the end
			m.hold(heldKey{pid, b.Memory[i].Space}, b.Memory[i].LiveBytes)
		}
	}
	m.machine(ctx, b)
	for i := range b.Losses {
		l := &b.Losses[i]
		m.counters[losses].Add(ctx, float64(l.Count), metric.WithAttributes(attribute.String(attrLoss, l.Kind.String())))
	}
	for _, pid := range b.Ended { // last, as its last calls are of its name
		// else the id is used again
		if !slices.ContainsFunc(b.Processes, func(p store.Process) bool { return p.PID == pid }) {
			m.forgetProcess(pid)
		}
	}
}

func seconds(ns uint64) float64 { return float64(ns) / 1e9 }

// maxOthers is how many processes that are not traced have names at least: who woke a traced one, had its CPU or uses
// its GPU. There may be hundreds of thousands in an hour, and nobody reports their ends.
const maxOthers = 4096

// named learns who a process is. What was known of it is of another program.
func (m *Metrics) named(p *store.Process) {
	if m.processes[p.PID] != nil || p.Traced {
		m.forgetProcess(p.PID)
	}
	named := process{report.Printable(p.Name), p.Rank}
	if !p.Traced {
		m.others.Put(p.PID, named)
		return
	}
	m.others.Delete(p.PID)
	m.processes[p.PID] = &named
}

// forgetProcess drops a process, which has no memory any more.
func (m *Metrics) forgetProcess(pid uint32) {
	for space := range event.NumSpaces {
		m.hold(heldKey{pid, space}, 0)
		delete(m.held, heldKey{pid, space})
	}
	delete(m.processes, pid)
	for k := range m.calls {
		if k.pid == pid {
			delete(m.calls, k)
		}
	}
	for k := range m.states {
		if k.pid == pid {
			delete(m.states, k)
		}
	}
}

// hold says how much memory a process has now. Processes of one name add up.
func (m *Metrics) hold(k heldKey, bytes uint64) {
	if was := m.held[k]; was != bytes {
		m.held[k] = bytes
		m.sums[memoryUsed].Add(context.Background(), float64(bytes)-float64(was),
			m.set(k.pid, attribute.String(attrSpace, k.space.String())))
	}
}

// of are the attributes of a process.
func (m *Metrics) of(pid uint32) []attribute.KeyValue {
	p := m.processes[pid]
	if other, ok := m.others.Get(pid); p == nil && ok {
		p = &other
	}
	if p == nil {
		return nil
	}
	a := []attribute.KeyValue{attribute.String(attrProcess, p.name)}
	if p.rank >= 0 {
		a = append(a, attribute.Int(attrRank, p.rank))
	}
	return a
}

func (m *Metrics) set(pid uint32, attrs ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(append(m.of(pid), attrs...)...))
}

// callSet are the attributes of an operation of a process, made once.
func (m *Metrics) callSet(pid uint32, op event.Op) metric.MeasurementOption {
	k := callKey{pid, op}
	o, ok := m.calls[k]
	if !ok {
		o = m.set(pid, attribute.String(attrSource, op.Source().String()), attribute.String(attrOp, op.String()))
		m.calls[k] = o
	}
	return o
}

func (m *Metrics) call(ctx context.Context, c *event.Call) {
	set := m.callSet(c.PID, c.Op)
	m.histograms[callDuration].Record(ctx, seconds(c.Duration), set)
	if c.Failed() {
		m.counters[callErrors].Add(ctx, 1, set, metric.WithAttributes(attribute.String(attrError, strconv.Itoa(int(c.Ret)))))
	}
	if i := c.Op.Info(); i != nil && c.Ret == 0 {
		if n := i.BytesArg(); n >= 0 {
			m.counters[callBytes].Add(ctx, float64(c.Args[n]), set)
		}
	}
	if c.Depth == 0 {
		m.spent(ctx, c.PID, c.Duration, &c.Ledger)
	}
}

// spent adds a span of a thread's time by where it went.
func (m *Metrics) spent(ctx context.Context, pid uint32, ns uint64, l *event.Ledger) {
	m.state(ctx, pid, event.OnCPU, ns-min(ns, l.Total()))
	for c, v := range l.NS {
		m.state(ctx, pid, event.Class(c), v)
	}
}

func (m *Metrics) state(ctx context.Context, pid uint32, c event.Class, ns uint64) {
	if ns == 0 {
		return
	}
	k := stateKey{pid, c}
	o, ok := m.states[k]
	if !ok {
		o = m.set(pid, attribute.String(attrState, c.String()))
		m.states[k] = o
	}
	m.counters[threadTime].Add(ctx, seconds(ns), o)
}

// machine adds readings of the machine and its GPUs.
func (m *Metrics) machine(ctx context.Context, b *store.Batch) {
	for i := range b.Snapshots {
		s := &b.Snapshots[i]
		m.gauges[cpuUtilization].Record(ctx, s.CPUPct/100)
		m.gauges[memUtilization].Record(ctx, s.MemPct/100)
	}
	for i := range b.GPUs {
		g := &b.GPUs[i]
		id := metric.WithAttributes(attribute.String(attrHW, strconv.Itoa(g.GPU)))
		m.gauges[gpuUtilization].Record(ctx, float64(g.UtilPct)/100, id)
		m.gauges[gpuTemperature].Record(ctx, float64(g.TempC), id)
		m.gauges[gpuClock].Record(ctx, float64(g.ClockMHz)*1e6, id)
		m.gauges[gpuMemory].Record(ctx, float64(g.MemMB)*(1<<20), id)
		m.gauges[gpuMemoryLimit].Record(ctx, float64(g.TotalMB)*(1<<20), id)
	}
}

// Tracer is what the tracer says of itself, once a second.
type Tracer struct {
	InFlight int     // calls that have not returned
	CPU      float64 // of one core
	RSS      uint64  // bytes
	Ring     float64 // 0 to 1
	DBBytes  int64
	Unsent   uint64 // log records and spans that the receiver did not get, since the start
}

// Second adds it.
func (m *Metrics) Second(t *Tracer) {
	ctx := context.Background()
	m.gauges[callsInFlight].Record(ctx, float64(t.InFlight))
	m.gauges[tracerCPU].Record(ctx, t.CPU)
	m.gauges[tracerMemory].Record(ctx, float64(t.RSS))
	m.gauges[tracerRing].Record(ctx, t.Ring)
	m.gauges[databaseSize].Record(ctx, float64(t.DBBytes))
	m.counters[otlpLost].Add(ctx, float64(t.Unsent-m.unsent))
	m.unsent = t.Unsent
}
