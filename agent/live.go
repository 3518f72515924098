package agent

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// The CPU budget of the live diagnosis. After an expensive run it waits, unless a call has just
// taken far longer than usual: users wait for the cause of that.
const (
	liveShare   = 0.015                  // of one core, in the long run
	liveCredit  = 400 * time.Millisecond // that it may use at once, after a pause and at the start
	liveReserve = 100 * time.Millisecond // part of liveCredit, for seconds with an unusually long call
)

// allowance is the CPU time that the live diagnosis may still use. It grows by liveShare up to
// liveCredit. A diagnosis that takes more makes it negative.
type allowance struct {
	left time.Duration
	at   time.Time // of the last call of may
}

// may reports whether a diagnosis may begin; urgent: a call was unusually long.
func (a *allowance) may(now time.Time, urgent bool) bool {
	if a.at.IsZero() {
		a.left = liveCredit
	} else {
		a.left = min(a.left+time.Duration(liveShare*float64(now.Sub(a.at))), liveCredit)
	}
	a.at = now
	if urgent {
		return a.left > 0
	}
	return a.left > liveReserve
}

// Live explains a recording while it is written. After each second that was stored it diagnoses the
// last five and passes the report on. It is a Sink.
type Live struct {
	open  func() (store.Reader, error)
	found func(*report.Report)
	log   *slog.Logger
	wake  chan time.Time
	stop  context.CancelFunc
	done  sync.WaitGroup
	left  allowance
	// urgent is set if a call was unusually long, until a diagnosis begins.
	urgent atomic.Bool
}

// NewLive starts a live diagnosis. open opens the recording for reading once its first second is
// stored; found is called from a goroutine of its own. A run closes its sinks; otherwise the caller
// must close it.
func NewLive(open func() (store.Reader, error), found func(*report.Report), log *slog.Logger) *Live {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &Live{open: open, found: found, log: log, wake: make(chan time.Time, 1), stop: stop}
	l.done.Go(func() { l.loop(ctx) })
	return l
}

// Batch implements Sink.
func (l *Live) Batch(*store.Batch) {}

// Second implements Sink. A second that ends during a diagnosis is skipped: the next diagnosis
// covers it.
func (l *Live) Second(s *Status) {
	if s.Unusual {
		l.urgent.Store(true)
	}
	select {
	case l.wake <- s.At:
	default:
	}
}

// Close ends the diagnosis and closes its reader. It may be called twice, and never fails.
func (l *Live) Close() error {
	l.stop()
	l.done.Wait()
	return nil
}

// warn says once that the diagnosis fails, until it works again: a disk may be full, or fail for a while.
func (l *Live) warn(what string, err error, said bool) bool {
	if !said {
		l.log.Warn(what+"; it is tried again each second", "err", err)
	}
	return true
}

func (l *Live) loop(ctx context.Context) {
	var r store.Reader
	said := false
	defer func() {
		if r != nil {
			_ = r.Close() // a reader has no data to lose
		}
	}()
	for {
		var now time.Time
		select {
		case <-ctx.Done():
			return
		case now = <-l.wake:
		}
		if !l.left.may(now, l.urgent.Load()) {
			continue
		}
		l.urgent.Store(false)
		if r == nil {
			opened, err := l.open()
			if err != nil {
				said = l.warn("cannot read the recording for the live diagnosis", err, said)
				continue
			}
			r = opened
		}
		began := time.Now()
		if err := l.diagnose(ctx, r, now); err != nil && ctx.Err() == nil {
			said = l.warn("cannot diagnose the recording", err, said)
			_ = r.Close() // likewise; it is opened again
			r = nil
		} else {
			said = false
		}
		l.left.left -= time.Since(began)
	}
}

func (l *Live) diagnose(ctx context.Context, r store.Reader, now time.Time) error {
	in, err := diagnose.Load(ctx, r, store.Window{From: uint64(now.Add(-diagnose.LiveWindow).UnixNano())})
	if err != nil {
		return err
	}
	in.Live = true
	l.found(diagnose.Diagnose(in))
	return nil
}
