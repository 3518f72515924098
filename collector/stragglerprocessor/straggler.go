package stragglerprocessor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/processor/processorhelper"
	"go.uber.org/zap/exp/zapslog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ingero-io/ingero/cluster/cohorts"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/collector/stragglerprocessor/internal/metadata"
	"github.com/ingero-io/ingero/lib/fewlogs"
)

// fleet is the part of the extension that the processor uses.
type fleet interface {
	Take(ctx context.Context, pushes []wire.Push, err error) cohorts.Taken
	Middles(most int) (list []cohorts.Middle, whole bool)
}

// straggler is the processor.
type straggler struct {
	config    *Config
	log       *slog.Logger // for what agents bring about
	telemetry *metadata.TelemetryBuilder
	next      consumer.Metrics
	fleet     fleet

	stop    context.CancelFunc // nil: not started
	running sync.WaitGroup
}

func newStraggler(c *Config, set component.TelemetrySettings, next consumer.Metrics) (*straggler, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set)
	if err != nil {
		return nil, fmt.Errorf("prepare metrics: %w", err)
	}
	log := fewlogs.New(slog.New(zapslog.NewHandler(set.Logger.Core())), time.Now)
	return &straggler{config: c, log: log, telemetry: telemetry, next: next}, nil
}

func (s *straggler) start(_ context.Context, host component.Host) error {
	found, ok := host.GetExtensions()[s.config.Extension]
	if !ok {
		return fmt.Errorf("there is no extension %q; list it in service::extensions", s.config.Extension)
	}
	if s.fleet, ok = found.(fleet); !ok {
		return fmt.Errorf("the extension %q keeps no cohorts; name one of the type threshold", s.config.Extension)
	}
	running, stop := context.WithCancel(context.Background())
	s.stop = stop
	if s.config.Interval > 0 {
		s.running.Go(func() { s.passOnCohorts(running) })
	}
	return nil
}

func (s *straggler) shutdown(context.Context) error {
	if s.stop != nil {
		s.stop()
	}
	s.running.Wait()
	return nil
}

// passOnCohorts passes metrics of cohorts to the next component until ctx ends.
func (s *straggler) passOnCohorts(ctx context.Context) {
	tick := time.NewTicker(s.config.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case at := <-tick.C:
			list, whole := s.fleet.Middles(s.config.MaxCohorts)
			if !whole {
				s.telemetry.CohortsLeftOut.Add(ctx, 1)
			}
			if len(list) > 0 {
				s.forward(ctx, cohortMetrics(at, list))
			}
		}
	}
}

// process hands the pushes in md to the fleet. It removes the data that only the fleet needs, and refused pushes. If
// all of a request is refused, the request is.
func (s *straggler) process(ctx context.Context, md pmetric.Metrics) (pmetric.Metrics, error) {
	pushes, at, refused, err := readPushes(md)
	if len(at) == 0 && err == nil {
		return md, nil // no agent's metrics
	}
	t := s.fleet.Take(ctx, pushes, err)
	for _, i := range t.Refused {
		refused = append(refused, at[i])
	}
	if t.Rejected > 0 {
		s.log.Debug("pushes are not accepted", "pushes", t.Rejected, "why", t.Why)
		if len(refused) == md.ResourceMetrics().Len() {
			return md, status.Error(codes.InvalidArgument, t.Why)
		}
	}
	clean(md, refused)
	if md.ResourceMetrics().Len() == 0 {
		return md, processorhelper.ErrSkipProcessingData
	}
	return md, nil
}

// readPushes reads the pushes in md. at has the index of each push's resource, bad the indices of resources that cannot
// be parsed, and err the reasons.
func readPushes(md pmetric.Metrics) (pushes []wire.Push, at, bad []int, err error) {
	var errs []error
	seen := 0
	for i, rm := range md.ResourceMetrics().All() {
		if !ours(rm) {
			continue
		}
		if seen++; seen > wire.MaxPushes {
			bad = append(bad, i)
			if seen == wire.MaxPushes+1 {
				errs = append(errs, &wire.Error{
					Fault: wire.Limit, Field: "resource_metrics", Why: fmt.Sprintf("are more than %d", wire.MaxPushes),
				})
			}
			continue
		}
		p, err := parse(rm)
		if err != nil {
			bad, errs = append(bad, i), append(errs, err)
			continue
		}
		if len(p) == 1 {
			pushes, at = append(pushes, p[0]), append(at, i)
		}
	}
	if len(errs) == 1 {
		return pushes, at, bad, errs[0]
	}
	return pushes, at, bad, errors.Join(errs...)
}

// ours reports whether a resource has metrics of an agent.
func ours(rm pmetric.ResourceMetrics) bool {
	for _, sm := range rm.ScopeMetrics().All() {
		if sm.Scope().Name() == wire.Scope {
			return true
		}
	}
	return false
}

// direct reads the push of a resource with nothing but data for the fleet, as most have. ok is false if parse must
// read it, which takes twice as long.
func direct(rm pmetric.ResourceMetrics) (p wire.Push, ok bool, err error) {
	if rm.ScopeMetrics().Len() != 1 || rm.ScopeMetrics().At(0).Metrics().Len() != 1 {
		return p, false, nil
	}
	m := rm.ScopeMetrics().At(0).Metrics().At(0)
	if m.Name() != wire.DataMetric || m.Type() != pmetric.MetricTypeGauge || m.Gauge().DataPoints().Len() != 1 {
		return p, false, nil
	}
	of := m.Gauge().DataPoints().At(0).Attributes()
	data, is := of.Get(wire.DataAttribute)
	order, ordered := of.Get(wire.OrderAttribute)
	if !is || data.Type() != pcommon.ValueTypeBytes || ordered && order.Type() != pcommon.ValueTypeBytes ||
		of.Len() != 1 && !(ordered && of.Len() == 2) {
		return p, false, nil
	}
	var node, cluster string
	var world int64
	for key, v := range rm.Resource().Attributes().All() {
		switch {
		case key == wire.NodeAttribute && v.Type() == pcommon.ValueTypeStr:
			node = v.Str()
		case key == wire.ClusterAttribute && v.Type() == pcommon.ValueTypeStr:
			cluster = v.Str()
		case key == wire.WorldAttribute && v.Type() == pcommon.ValueTypeInt && v.Int() == int64(int32(v.Int())):
			world = v.Int()
		default:
			return p, false, nil
		}
	}
	if p, err = wire.NewPush(node, cluster, int32(world), data.Bytes().AsRaw()); err == nil && ordered {
		err = p.SetOrder(order.Bytes().AsRaw())
	}
	return p, true, err
}

// parse reads the push of a resource with the code of the fleet's own server.
func parse(rm pmetric.ResourceMetrics) ([]wire.Push, error) {
	if p, ok, err := direct(rm); ok {
		return []wire.Push{p}, err
	}
	one := pmetric.NewMetrics()
	rm.CopyTo(one.ResourceMetrics().AppendEmpty())
	var m pmetric.ProtoMarshaler
	body, err := m.MarshalMetrics(one) // the same fields as in a request
	if err != nil {
		return nil, &wire.Error{Fault: wire.Malformed, Why: err.Error()}
	}
	return wire.ParseRequest(body)
}

// clean removes refused resources, and the data that is for the fleet only.
func clean(md pmetric.Metrics, refused []int) {
	i := -1
	md.ResourceMetrics().RemoveIf(func(rm pmetric.ResourceMetrics) bool {
		if i++; slices.Contains(refused, i) {
			return true
		}
		rm.ScopeMetrics().RemoveIf(func(sm pmetric.ScopeMetrics) bool {
			if sm.Scope().Name() != wire.Scope {
				return false
			}
			sm.Metrics().RemoveIf(func(m pmetric.Metric) bool { return m.Name() == wire.DataMetric })
			return sm.Metrics().Len() == 0
		})
		return rm.ScopeMetrics().Len() == 0
	})
}

// forward passes agents' metrics to the next component. It hides that component's errors from the agents: an outage
// behind this processor must not look like one of the fleet.
type forward struct {
	consumer.Metrics
	straggler *straggler
}

// ConsumeMetrics implements consumer.Metrics.
func (f forward) ConsumeMetrics(ctx context.Context, md pmetric.Metrics) error {
	for _, rm := range md.ResourceMetrics().All() {
		if ours(rm) {
			f.straggler.forward(ctx, md)
			return nil
		}
	}
	return f.Metrics.ConsumeMetrics(ctx, md)
}

// forward passes metrics on, and counts those that the next component refuses.
func (s *straggler) forward(ctx context.Context, md pmetric.Metrics) {
	points := md.DataPointCount() // the next component may modify md
	if err := s.next.ConsumeMetrics(ctx, md); err != nil {
		s.telemetry.NotForwarded.Add(ctx, int64(points))
		s.log.Warn("metrics are not forwarded", "points", points, "err", err)
	}
}
