package metrics

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/ingero-io/ingero/cluster/arrivals"
	"github.com/ingero-io/ingero/event"
)

// collectives are some that are sent to a URL.
func collectives(t *testing.T, url string) (*Collectives, *Pushed) {
	t.Helper()
	e, err := ParseEndpoint(url)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Push(t.Context(), e, Sender{Node: "gpu-05", Cluster: "east", Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return NewCollectives(p, "gpu-05:8080"), p
}

const (
	allReduce = event.Op(event.SourceNCCL)<<8 | 6
	someComm  = uint64(0xfedc_ba98_7654_3210)
)

// entered is an operation of a rank that entered it so many ms after the first one.
func entered(rank int32, ms uint64, why arrivals.Why) arrivals.Arrival {
	at := uint64(1_800_000_000_000_000_000)
	return arrivals.Arrival{Why: why, OneOf: 1, OwnNS: 90e6 + ms*1e6, UsualOwnNS: 90e6, Collective: event.Collective{
		At: at + ms*1e6, Start: at + ms*1e6, Duration: 1000, Op: allReduce, CommID: someComm, Rank: rank, Ranks: 8, Seq: 42,
		Bytes: 1 << 20, DataType: 9, Thread: event.Thread{PID: 100 + uint32(rank), TID: 100}, SyncOp: 1, SyncEnd: at + 300e6,
	}}
}

// The spans of one operation are of one trace, and each says when its rank entered it; the late one also why.
func TestSingleOperationsAreSpansOfOneTrace(t *testing.T) {
	for _, scheme := range []string{"http", "grpc"} {
		t.Run(scheme, func(t *testing.T) {
			box := &inbox{}
			srv := httptest.NewServer(box)
			defer srv.Close()
			url := srv.URL
			if scheme == "grpc" {
				url = serveGRPC(t, box)
			}
			c, p := collectives(t, url)
			late := entered(5, 290, arrivals.Late)
			late.BeforeNS = 380e6
			late.Off[event.RunQueue] = 288e6
			other := entered(1, 0, arrivals.Waited)
			other.Seq++ // another operation
			c.Arrivals([]arrivals.Arrival{entered(0, 0, arrivals.Waited), late, other}, func(pid uint32) []string {
				if pid != 105 {
					t.Errorf("the findings of process %d are asked for", pid)
				}
				return []string{"a", "b", "c", "d"}
			})
			c.Close(t.Context())
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, spans := box.received()
			if len(spans) != 3 {
				t.Fatalf("%d spans", len(spans))
			}
			first, second := spans[0], spans[1]
			if !bytes.Equal(first.GetTraceId(), second.GetTraceId()) || bytes.Equal(first.GetSpanId(), second.GetSpanId()) ||
				bytes.Equal(first.GetTraceId(), spans[2].GetTraceId()) {
				t.Errorf("the spans are %v", spans)
			}
			if first.GetName() != "ncclAllReduce" || second.GetStartTimeUnixNano()-first.GetStartTimeUnixNano() != 290e6 ||
				first.GetEndTimeUnixNano() != second.GetEndTimeUnixNano() {
				t.Errorf("the spans are %v", spans)
			}
			a := textsOf(second.GetAttributes())
			for name, want := range map[string]string{
				"nccl.op_type": "ncclAllReduce", "nccl.comm_id_hash": "fedcba9876543210", "nccl.seq": "42", "nccl.rank": "5",
				"nccl.nranks": "8", "nccl.datatype": "bfloat16", "nccl.reduce_op": "sum", "process.pid": "105",
				"ingero.collective.why": "late", "ingero.collective.one_of": "1", "ingero.node.id": "gpu-05", "ingero.cluster.id": "east",
				"ingero.node.address": "gpu-05:8080",
			} {
				if a[name] != want {
					t.Errorf("%s is %q, want %q", name, a[name], want)
				}
			}
			numbers := map[string]float64{}
			chains := 0
			for _, a := range second.GetAttributes() {
				numbers[a.GetKey()] = a.GetValue().GetDoubleValue()
				if a.GetKey() == "ingero.chain_ids" {
					chains = len(a.GetValue().GetArrayValue().GetValues())
				}
			}
			for name, want := range map[string]float64{
				"ingero.collective.own_ms": 380, "ingero.collective.usual_own_ms": 90, "ingero.collective.before_ms": 380,
				"ingero.collective.before.runq_ms": 288,
			} {
				if numbers[name] != want {
					t.Errorf("%s is %v, want %v", name, numbers[name], want)
				}
			}
			if chains != 3 {
				t.Errorf("%d findings are named", chains)
			}
		})
	}
}

// Each second is a point of its own, of that second only.
func TestSumsArePointsOfTheirSeconds(t *testing.T) {
	box := &inbox{}
	srv := httptest.NewServer(box)
	defer srv.Close()
	c, p := collectives(t, srv.URL)
	at := uint64(1_800_000_000_000_000_000)
	var list []arrivals.Sum
	for i := range uint64(3) {
		list = append(list, arrivals.Sum{
			From: at + i*1e9, To: at + (i+1)*1e9, PID: 7, Rank: 5, Ranks: 8, Comm: someComm, Op: allReduce, Count: 10 + i,
			Bytes: 1 << 20, Waits: 9, WaitNS: 90e6, WaitMin: 1e6, WaitMax: 40e6,
		})
	}
	list = append(list, arrivals.Sum{From: at, To: at + 1e9, PID: 8, Rank: -1, Op: allReduce, Count: 1})
	c.Sums(list)
	c.Close(t.Context())
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	box.mu.Lock()
	defer box.mu.Unlock()
	found := map[string]int{}
	for _, r := range box.metrics {
		for _, rm := range r.GetResourceMetrics() {
			if a := textsOf(rm.GetResource().GetAttributes()); a["host.name"] != "gpu-05" || a["ingero.cluster.id"] != "east" {
				t.Errorf("the sender is %v", a)
			}
			for _, m := range rm.GetScopeMetrics()[0].GetMetrics() {
				found[m.GetName()] = len(m.GetSum().GetDataPoints()) + len(m.GetHistogram().GetDataPoints())
				const delta = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
				if s := m.GetSum(); s != nil && s.GetAggregationTemporality() != delta {
					t.Errorf("%s has sums of all times", m.GetName())
				}
				for i, d := range m.GetHistogram().GetDataPoints() {
					if d.GetCount() != 9 || d.GetSum() != 0.09 || d.GetMin() != 0.001 || d.GetMax() != 0.04 ||
						d.GetStartTimeUnixNano() != at+uint64(i)*1e9 || d.GetTimeUnixNano() != at+uint64(i+1)*1e9 {
						t.Errorf("point %d is %v", i, d)
					}
				}
				if m.GetName() == "ingero.collective.operations" {
					d := m.GetSum().GetDataPoints()
					if d[2].GetAsInt() != 12 || textsOf(d[2].GetAttributes())["nccl.rank"] != "5" ||
						textsOf(d[3].GetAttributes())["nccl.rank"] != "" || textsOf(d[3].GetAttributes())["nccl.comm_id_hash"] != "" {
						t.Errorf("the points are %v", d)
					}
				}
			}
		}
	}
	if found["ingero.collective.operations"] != 4 || found["ingero.collective.bytes"] != 4 ||
		found["ingero.collective.barrier_wait"] != 3 {
		t.Errorf("sent are %v", found)
	}
	if c.Lost() != 0 {
		t.Errorf("%d are lost", c.Lost())
	}
}

// Sums that a receiver does not get are counted, also those for which there is no room.
func TestSumsThatAreNotSentAreCounted(t *testing.T) {
	c, p := collectives(t, "http://127.0.0.1:1")
	c.Sums(make([]arrivals.Sum, maxSums))
	c.Sums(make([]arrivals.Sum, 3))
	if n := c.Lost(); n != 3 {
		t.Errorf("%d are lost before anything is sent", n)
	}
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	c.Close(ctx)
	if n := c.Lost(); n != maxSums+3 {
		t.Errorf("%d are lost", n)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	c.Close(t.Context()) // a second time
}

// A receiver that says "try again" does not keep a tracer from ending when it is told to.
func TestClosingDoesNotWaitForAReceiver(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer srv.Close()
	c, p := collectives(t, srv.URL)
	c.Sums(make([]arrivals.Sum, 3))
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	c.Close(ctx)
	if ctx.Err() == nil {
		t.Error("it did not try until the end")
	}
	if n := c.Lost(); n != 3 {
		t.Errorf("%d are lost", n)
	}
	_ = p.Close(ctx) // what it has to say is said by Lost
}

// Many sums are sent in requests that receivers take.
func TestManySumsAreSentInPieces(t *testing.T) {
	box := &inbox{}
	srv := httptest.NewServer(box)
	defer srv.Close()
	c, p := collectives(t, srv.URL)
	list := make([]arrivals.Sum, 3000)
	for i := range list {
		list[i] = arrivals.Sum{From: 1e18, To: 1e18 + 1e9, PID: uint32(i), Rank: -1, Op: allReduce, Count: 1}
	}
	c.Sums(list)
	c.Close(t.Context())
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	box.mu.Lock()
	defer box.mu.Unlock()
	if len(box.metrics) != 3 || c.Lost() != 0 {
		t.Errorf("%d requests, %d lost", len(box.metrics), c.Lost())
	}
}
