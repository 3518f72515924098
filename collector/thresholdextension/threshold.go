package thresholdextension

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"

	"github.com/ingero-io/ingero/cluster/cohorts"
	"github.com/ingero-io/ingero/cluster/fleetserver"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/collector/thresholdextension/internal/metadata"
	"github.com/ingero-io/ingero/lib/fewlogs"
)

// Threshold is the extension. It owns the cohorts.
type Threshold struct {
	config    *Config
	settings  component.TelemetrySettings
	telemetry *metadata.TelemetryBuilder
	fleet     *fleetserver.Server

	observed metric.Registration // nil: not started
	server   *http.Server
	stop     context.CancelFunc
	running  sync.WaitGroup
}

func newThreshold(c *Config, set component.TelemetrySettings) (*Threshold, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set)
	if err != nil {
		return nil, fmt.Errorf("prepare metrics: %w", err)
	}
	t := &Threshold{config: c, settings: set, telemetry: telemetry}
	t.fleet = fleetserver.New(fleetserver.Options{
		Clusters: c.Clusters, Told: t.report,
		Logger: fewlogs.New(slog.New(zapslog.NewHandler(set.Logger.Core())), time.Now),
	})
	return t, nil
}

// Start starts the server and the search for silent nodes.
func (t *Threshold) Start(ctx context.Context, host component.Host) error {
	l, err := t.config.ServerConfig.ToListener(ctx)
	if err != nil {
		return fmt.Errorf("listen at %s: %w", t.config.ServerConfig.NetAddr.Endpoint, err)
	}
	t.server, err = t.config.ServerConfig.ToServer(ctx, host.GetExtensions(), t.settings, t.handler())
	if err != nil {
		return errors.Join(fmt.Errorf("prepare the server: %w", err), l.Close())
	}
	if t.observed, err = t.observe(); err != nil {
		return errors.Join(fmt.Errorf("prepare metrics: %w", err), l.Close())
	}
	t.settings.Logger.Info("what the fleet knows is served", zap.String("at", l.Addr().String()))
	t.running.Go(func() {
		if err := t.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
		}
	})
	running, stop := context.WithCancel(context.Background()) // ctx ends with Start
	t.stop = stop
	t.running.Go(func() { t.fleet.Run(running) })
	return nil
}

// Shutdown stops what Start started.
func (t *Threshold) Shutdown(ctx context.Context) error {
	var err error
	if t.stop != nil {
		t.stop()
	}
	if t.server != nil {
		if err = t.server.Shutdown(ctx); err != nil {
			err = errors.Join(err, t.server.Close())
		}
	}
	t.running.Wait()
	if t.observed != nil {
		err = errors.Join(err, t.observed.Unregister())
	}
	return err
}

// Take hands the pushes of a request to the fleet; err is what was wrong with others of the request. The answer goes
// to the response of the request in ctx.
func (t *Threshold) Take(ctx context.Context, pushes []wire.Push, err error) cohorts.Taken {
	r := responseOf(ctx)
	cluster := ""
	if r != nil {
		cluster = r.cluster
	}
	return t.fleet.Take(cluster, pushes, err, func(a wire.Answer) error {
		if r == nil {
			t.telemetry.Unanswered.Add(ctx, 1)
			return nil
		}
		return r.set(a)
	})
}

// Middles returns the middles of at most most cohorts. whole is false if there are more.
func (t *Threshold) Middles(most int) (list []cohorts.Middle, whole bool) {
	return t.fleet.Middles(most)
}

// report logs and counts a verdict.
func (t *Threshold) report(v cohorts.Told) {
	if !v.Resolved {
		t.telemetry.Verdicts.Add(context.Background(), 1,
			metric.WithAttributes(attribute.String("kind", v.Kind.String())))
	}
	e := wire.NewEvent(v.Verdict, wire.About{Node: v.NodeName, Cluster: v.ClusterName}, nil)
	line, err := wire.AppendEvent(nil, &e)
	if err != nil {
		t.settings.Logger.Warn("a verdict cannot be logged", zap.Error(err))
		return
	}
	t.settings.Logger.Info("verdict", zap.Reflect("event", json.RawMessage(bytes.TrimSpace(line))))
}
