package metrics

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/ingero-io/ingero/cluster/arrivals"
	"github.com/ingero-io/ingero/event"
)

// The metrics of collective operations. Each push has the seconds since the last one, a point for each, and no sums
// since the start.
const (
	sentCount = "ingero.collective.operations"
	sentBytes = "ingero.collective.bytes"
	sentWait  = "ingero.collective.barrier_wait"
)

// Attributes of collective operations. Those of NCCL have the published names.
const (
	attrCommunicator = "nccl.comm_id_hash" // 16 hexadecimal digits; absent if it is not known
	attrOperation    = "nccl.op_type"
	attrNCCLRank     = "nccl.rank"
	attrNCCLRanks    = "nccl.nranks"
	attrSequence     = "nccl.seq"
	attrDataType     = "nccl.datatype"
	attrReduceOp     = "nccl.reduce_op"
	attrPeer         = "nccl.peer_rank"
	attrPID          = "process.pid"
	attrChains       = "ingero.chain_ids"
	// prefixCollective begins those that are our own.
	prefixCollective = "ingero.collective."
)

const (
	// sumsEvery is how often sums are sent, and maxSums how many wait at most. Further ones are lost, and counted.
	sumsEvery = 5 * time.Second
	maxSums   = 1 << 14
	// sumsAtOnce is how many a request has: some 500 bytes each, and receivers may take a mebibyte.
	sumsAtOnce = 1024
	// maxChains is how many findings a late operation names.
	maxChains = 3
)

// Collectives sends what package arrivals chose: sums as points of metrics, single operations as spans. The spans of
// one operation, of all its ranks on all nodes, are of one trace. Its methods are for one goroutine.
type Collectives struct {
	pushed  *Pushed
	tracer  trace.Tracer
	address string

	stop    context.CancelFunc
	running sync.WaitGroup
	closing sync.Once

	mu      sync.Mutex // guards the rest
	waiting []arrivals.Sum
	lost    uint64
}

// NewCollectives sends by p. address is where the node can be asked, empty: nowhere.
func NewCollectives(p *Pushed, address string) *Collectives {
	ctx, stop := context.WithCancel(context.Background())
	c := &Collectives{pushed: p, tracer: p.Spans.Tracer("github.com/ingero-io/ingero"), address: address, stop: stop}
	c.running.Go(func() { c.sendSums(ctx) })
	return c
}

// sendSums sends sums until ctx ends.
func (c *Collectives) sendSums(ctx context.Context) {
	tick := time.NewTicker(sumsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			ctx, stop := context.WithTimeout(ctx, retryAll)
			c.send(ctx)
			stop()
		}
	}
}

// Sums takes sums to be sent. It does not wait, and keeps nothing of list.
func (c *Collectives) Sums(list []arrivals.Sum) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(list), maxSums-len(c.waiting))
	c.waiting = append(c.waiting, list[:n]...)
	c.lost += uint64(len(list) - n)
}

// Lost is how many sums the receiver did not get so far.
func (c *Collectives) Lost() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

// send sends the sums that wait.
func (c *Collectives) send(ctx context.Context) {
	c.mu.Lock()
	list := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	for len(list) > 0 {
		n := min(len(list), sumsAtOnce)
		if err := c.pushed.direct.Export(ctx, c.points(list[:n])); err != nil {
			otel.Handle(err)
			c.mu.Lock()
			c.lost += uint64(n)
			c.mu.Unlock()
		}
		list = list[n:]
	}
}

// Close sends the sums that are left, until ctx ends. What is not sent then is lost, also of what is being sent. It may
// be called twice.
func (c *Collectives) Close(ctx context.Context) {
	c.closing.Do(func() {
		c.stop()
		c.running.Wait()
		c.send(ctx)
	})
}

// points are sums as OTLP has them.
func (c *Collectives) points(list []arrivals.Sum) *metricdata.ResourceMetrics {
	var count, bytes []metricdata.DataPoint[int64]
	var wait []metricdata.HistogramDataPoint[float64]
	for i := range list {
		s := &list[i]
		attrs := sumAttributes(s)
		from, to := time.Unix(0, int64(s.From)), time.Unix(0, int64(s.To))
		count = append(count, metricdata.DataPoint[int64]{
			Attributes: attrs, StartTime: from, Time: to, Value: int64(s.Count),
		})
		bytes = append(bytes, metricdata.DataPoint[int64]{
			Attributes: attrs, StartTime: from, Time: to, Value: int64(s.Bytes),
		})
		if s.Waits > 0 {
			wait = append(wait, metricdata.HistogramDataPoint[float64]{
				Attributes: attrs, StartTime: from, Time: to, Count: s.Waits, BucketCounts: []uint64{s.Waits},
				Sum: seconds(s.WaitNS), Min: metricdata.NewExtrema(seconds(s.WaitMin)),
				Max: metricdata.NewExtrema(seconds(s.WaitMax)),
			})
		}
	}
	sum := func(points []metricdata.DataPoint[int64]) metricdata.Sum[int64] {
		return metricdata.Sum[int64]{DataPoints: points, Temporality: metricdata.DeltaTemporality, IsMonotonic: true}
	}
	out := []metricdata.Metrics{
		{
			Name: sentCount, Unit: "{operation}", Data: sum(count),
			Description: "Collective operations that a rank finished in a second.",
		},
		{Name: sentBytes, Unit: "By", Data: sum(bytes), Description: "What they moved."},
	}
	if len(wait) > 0 {
		out = append(out, metricdata.Metrics{
			Name: sentWait, Unit: "s", Description: "From when a rank entered an operation until it knew that it was done.",
			Data: metricdata.Histogram[float64]{DataPoints: wait, Temporality: metricdata.DeltaTemporality},
		})
	}
	return &metricdata.ResourceMetrics{Resource: c.pushed.sender.identity(), ScopeMetrics: []metricdata.ScopeMetrics{{
		Scope: instrumentation.Scope{Name: "github.com/ingero-io/ingero"}, Metrics: out,
	}}}
}

func sumAttributes(s *arrivals.Sum) attribute.Set {
	a := attributes{attribute.String(attrOperation, s.Op.String()), attribute.Int(attrPID, int(s.PID))}
	a.communicator(s.Comm, s.Rank, s.Ranks)
	return attribute.NewSet(a...)
}

// communicator adds what is known of an operation's communicator and of the rank in it.
func (a *attributes) communicator(id uint64, rank, ranks int32) {
	if id != 0 {
		a.addText(attrCommunicator, fmt.Sprintf("%016x", id))
	}
	if rank >= 0 {
		*a = append(*a, attribute.Int(attrNCCLRank, int(rank)))
	}
	a.addCount(attrNCCLRanks, int(ranks))
}

// Arrivals sends single operations. chains are the ids of what is found in a process now.
func (c *Collectives) Arrivals(list []arrivals.Arrival, chains func(pid uint32) []string) {
	for i := range list {
		x := &list[i]
		id := spanName{fmt.Sprintf("%016x %d %d", x.CommID, x.Op, x.Seq), fmt.Sprintf("%d %s", x.Rank, x.Why)}
		_, span := c.tracer.Start(context.WithValue(context.Background(), spanKey{}, id), x.Op.String(),
			trace.WithTimestamp(time.Unix(0, int64(x.At))), trace.WithSpanKind(trace.SpanKindInternal),
			trace.WithAttributes(c.arrival(x, chains)...))
		span.End(trace.WithTimestamp(time.Unix(0, int64(ended(x)))))
	}
}

// ended is when a rank knew that an operation was done; if no wait for it was seen, when the call returned.
func ended(x *arrivals.Arrival) uint64 {
	if ns, ok := x.Wait(); ok {
		return x.At + ns
	}
	return max(x.At, x.Start+x.Duration)
}

// arrival are the attributes of a single operation. Times are in ms.
func (c *Collectives) arrival(x *arrivals.Arrival, chains func(pid uint32) []string) attributes {
	a := attributes{
		attribute.String(attrOperation, x.Op.String()), attribute.Int64(attrSequence, int64(x.Seq)),
		attribute.Int(attrPID, int(x.PID)), attribute.String(attrDataType, x.TypeName()),
		attribute.String(prefixCollective+"why", string(x.Why)),
		attribute.Int64(prefixCollective+"one_of", int64(x.OneOf)), attribute.Int64("nccl.bytes", int64(x.Bytes)),
	}
	a.communicator(x.CommID, x.Rank, x.Ranks)
	if event.Reduces(x.Op) {
		a.addText(attrReduceOp, x.ReduceName())
	}
	if event.HasPeer(x.Op) {
		a = append(a, attribute.Int(attrPeer, int(x.Peer)))
	}
	a.addText("ingero.node.id", c.pushed.sender.Node)
	a.addText(attrCluster, c.pushed.sender.Cluster)
	a.addText(attrAddress, c.address)
	for _, t := range []struct {
		name string
		ns   uint64
	}{
		{"own_ms", x.OwnNS},
		{"usual_own_ms", x.UsualOwnNS},
		{"wait_ms", x.WaitNS},
		{"usual_wait_ms", x.UsualWaitNS},
		{"before_ms", x.BeforeNS},
	} {
		if t.ns > 0 {
			a = append(a, attribute.Float64(prefixCollective+t.name, milliseconds(t.ns)))
		}
	}
	for class, ns := range x.Off {
		if ns > 0 {
			a = append(a, attribute.Float64(prefixCollective+"before."+event.Class(class).String()+"_ms", milliseconds(ns)))
		}
	}
	if x.Why != arrivals.Late {
		return a
	}
	if ids := chains(x.PID); len(ids) > 0 {
		a = append(a, attribute.StringSlice(attrChains, ids[:min(len(ids), maxChains)]))
	}
	return a
}

func milliseconds(ns uint64) float64 { return float64(ns) / 1e6 }
