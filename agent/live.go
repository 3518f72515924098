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

// What the live diagnosis may cost. One that took long makes the next one wait, unless a call
// has just taken far longer than usual: the cause of that is what people wait for.
const (
	liveShare   = 0.015                  // of one core, in the long run
	liveCredit  = 400 * time.Millisecond // that it may use at once, after a rest and at the start
	liveReserve = 100 * time.Millisecond // of that, for seconds with an unusually long call
)

// allowance is the time that the live diagnosis may still use. It grows by liveShare up to
// liveCredit; what one diagnosis takes more than is left is owed.
type allowance struct {
	left time.Duration
	at   time.Time // of the last call of may
}

// may says whether a diagnosis may begin; urgent: something unusual happened.
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

// Live explains a recording while it is being made: after each second that was
// stored it diagnoses the last five and hands over the report. It is a Sink.
type Live struct {
	open  func() (store.Reader, error)
	found func(*report.Report)
	log   *slog.Logger
	wake  chan time.Time
	stop  context.CancelFunc
	done  sync.WaitGroup
	left  allowance
	// urgent is set when a call was unusually long, until a diagnosis begins.
	urgent atomic.Bool
}

// NewLive starts a live diagnosis. open opens the recording for reading once its
// first second is in it; found is called from a goroutine of its own. A run closes
// its sinks; without one the caller must.
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

// Second implements Sink. While a diagnosis is going on a second is left out: the
// next one covers it.
func (l *Live) Second(s *Status) {
	if s.Unusual {
		l.urgent.Store(true)
	}
	select {
	case l.wake <- s.At:
	default:
	}
}

// Close ends the diagnosis and closes its reader. It may be called twice, and never
// fails.
func (l *Live) Close() error {
	l.stop()
	l.done.Wait()
	return nil
}

func (l *Live) loop(ctx context.Context) {
	var r store.Reader
	defer func() {
		if r != nil {
			_ = r.Close() // a reader has nothing to lose
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
				l.log.Warn("cannot read the recording for the live diagnosis", "err", err)
				return
			}
			r = opened
		}
		began := time.Now()
		if err := l.diagnose(ctx, r, now); err != nil && ctx.Err() == nil {
			l.log.Warn("cannot diagnose the recording", "err", err)
			return
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
