package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/cluster/peers"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/lib/plain"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// fleetPushFlags are the flags of fleet-push.
type fleetPushFlags struct {
	peers   peersFlags
	metrics metricsFlags // OTLP only
	db      string
	node    string
	asJSON  bool
}

func fleetPushCommand(c *console) *cobra.Command {
	var f fleetPushFlags
	cmd := &cobra.Command{
		Use:   "fleet-push --fleet HOST:4318 [--db FILE]",
		Short: "Compare the ranks in a recording with their peers, while it is made",
		Long: `Fleet-push does what "ingero trace --fleet" does, but from a recording that "ingero trace" is making on this
node: it follows the file, pushes the own work of the ranks in it to a fleet, and reports which rank is slow.
So the tracer, which needs privileges, needs no network, and what has the network needs no privileges
but to read the file.

It changes nothing in the file. If the tracer ends, it waits for the next one, also if that makes
another file of the same name.`,
		Example: `  sudo ingero trace --db /var/lib/ingero/run.db
  ingero fleet-push --db /var/lib/ingero/run.db --fleet https://fleet-1:4318 --cluster east --events`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("fleet-push takes no arguments; see ingero fleet-push --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return c.fleetPush(ctx, &f)
		},
	}
	f.peers.addFlags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.db, "db", "", "the recording to follow (default $"+databaseEnv+
		", else that of ingero.yaml, else ~/.ingero/ingero.db)")
	fl.StringVar(&f.node, "node", "", "name of this machine (default that in the recording)")
	fl.BoolVar(&f.asJSON, "json", false, "print events as JSON, one a line")
	fl.StringVar(&f.metrics.otlp, "otlp", "",
		"send events to an OpenTelemetry collector (HOST:4318, https://HOST:4318, grpc://HOST:4317)")
	return cmd
}

func (c *console) fleetPush(ctx context.Context, f *fleetPushFlags) error {
	if len(f.peers.fleet) == 0 {
		return usage("which fleet? Name it: ingero fleet-push --fleet HOST:4318")
	}
	if err := f.peers.check(ctx, c.env, c.err); err != nil {
		return err
	}
	path, err := c.database(f.db)
	if err != nil {
		return err
	}
	p := &pusher{c: c, flags: f, path: path, log: c.logger(c.err)}
	return p.runPusher(ctx)
}

// How a recording is followed.
const (
	// lookEvery is how often it is looked at. A tracer writes once a second.
	lookEvery = 500 * time.Millisecond
	// wroteWithin is how long ago a tracer that runs has written.
	wroteWithin = 10 * time.Second
	// lookBack is how far back steps are taken when it begins. What was before is of no use to peers.
	lookBack = 10 * time.Second
	// culpritEvery is how often the culprit of an event is looked for.
	culpritEvery = 3 * time.Second
)

// pusher follows a recording.
type pusher struct {
	c     *console
	flags *fleetPushFlags
	path  string
	log   *slog.Logger
	told  string // the last reported reason why nothing is pushed
	// names are those of processes, by number. The recording knows them: a process may be out of sight.
	names names
}

// look is what is in a recording at a moment.
type look struct {
	run  store.Session // of the tracer that wrote last; zero: none did
	rows []store.RankSteps
}

// looking reads what was recorded from a time on (Unix ns).
func (p *pusher) looking(ctx context.Context, r *sqlite.Reader, from uint64) (l look, err error) {
	s, err := r.Summary(ctx)
	if err != nil || len(s.Sessions) == 0 {
		return l, err
	}
	l.run = s.Sessions[len(s.Sessions)-1]
	if l.rows, err = store.List[store.RankSteps](ctx, r, store.Window{From: from}); err != nil {
		return l, err
	}
	return l, p.names.learn(ctx, r, l.rows)
}

// last is the run of the tracer that wrote last. The file is opened for it.
func (p *pusher) last(ctx context.Context) (run store.Session, err error) {
	r, err := sqlite.OpenReader(p.path)
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	l, err := p.looking(ctx, r, math.MaxInt64)
	return l.run, err
}

// state is another text whenever the file has changed.
func (p *pusher) state() string {
	var text strings.Builder
	for _, path := range []string{p.path, p.path + "-wal"} {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprint(&text, info.Size(), " ", info.ModTime().UnixNano(), " ")
		}
	}
	return text.String()
}

// writes reports whether the run's tracer still writes.
func writes(s *store.Session, now time.Time) bool {
	wrote := time.Unix(0, int64(max(s.Flushed, s.Started)))
	return s.Started > 0 && s.Stopped == 0 && now.Sub(wrote) < wroteWithin
}

// runPusher waits for tracers, and pushes what they record, until ctx ends.
func (p *pusher) runPusher(ctx context.Context) error {
	seen := "never"
	for {
		if state := p.state(); state != seen { // opening a file takes longer than all else
			ended, err := p.wait(ctx)
			if err != nil || ctx.Err() != nil {
				return err
			}
			if seen = state; ended {
				seen = ""
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookEvery):
		}
	}
}

// wait follows the tracer that writes now, until it ends; if there is none, it says so.
func (p *pusher) wait(ctx context.Context) (ended bool, err error) {
	run, err := p.last(ctx)
	info, missing := os.Stat(p.path)
	switch {
	case ctx.Err() != nil:
	case missing != nil, info.Size() == 0, errors.Is(err, store.ErrNotFound):
		p.say("there is no recording %s yet; waiting for a tracer: sudo ingero trace --db %[1]s", quote(p.path))
	case errors.Is(err, store.ErrPermission), errors.Is(err, store.ErrForeign):
		return false, fmt.Errorf("read what is to be pushed: %w", err)
	case err != nil: // it is being replaced, or the like
		p.say("%s cannot be read: %v; waiting for a tracer: sudo ingero trace --db %[1]s", quote(p.path), err)
	case !writes(&run, time.Now()):
		p.say("no tracer writes %s; waiting for one: sudo ingero trace --db %[1]s", quote(p.path))
	default:
		return true, p.follow(ctx, &run)
	}
	return false, nil
}

// say says why nothing is pushed, if that is another reason than before.
func (p *pusher) say(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); s != p.told {
		p.told = s
		fmt.Fprintln(p.c.err, "ingero:", s)
	}
}

// follow pushes what a run of a tracer records, until it ends. Errors of the file end it, too: run looks again.
func (p *pusher) follow(ctx context.Context, run *store.Session) error {
	r, err := sqlite.OpenReader(p.path)
	if err != nil {
		return nil //nolint:nilerr // run looks at the same error
	}
	defer r.Close()
	file, err := os.Stat(p.path)
	if err != nil {
		return nil //nolint:nilerr // the same
	}
	p.names.clear()
	o := peersOptions{
		c: p.c, node: cmp.Or(p.flags.node, run.Node), log: p.c.err, logger: p.log, shown: p.show, name: p.names.nameOf,
	}
	exported, err := p.flags.metrics.open(ctx, sender(o.node, p.flags.peers.cluster), "", p.log)
	if err != nil {
		return err
	}
	if exported != nil {
		if exported.ranks != nil {
			o.otlp = exported.ranks
		}
		defer func() { _ = exported.Close() }() // without Prometheus it never fails
	}
	ranks, err := p.flags.peers.open(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		ranks.Show()
		if err := ranks.Close(); err != nil {
			p.log.Warn("a socket cannot be removed", "err", err)
		}
	}()
	p.say("pushing what %s records to %s", quote(p.path), p.flags.peers.fleet)
	began := time.Now()
	from, searched := uint64(began.Add(-lookBack).UnixNano()), time.Time{}
	for {
		l, err := p.looking(ctx, r, from)
		if err != nil || l.run.Started != run.Started || l.run.PID != run.PID {
			return nil //nolint:nilerr // the same
		}
		if len(l.rows) > 0 {
			from = p.feed(ranks, l.rows, from, began)
		} else if at := l.run.Flushed; at > from+2*uint64(time.Second) {
			// No rank is left: time passes all the same, and what was said of those that ended ends with it.
			from = at - uint64(time.Second)
			p.pass(ranks, from, began)
		}
		ranks.Show()
		now := time.Now()
		if ranks.Searches(now) && now.Sub(searched) >= culpritEvery {
			searched = now
			p.explain(ctx, r, ranks, now)
		}
		if is, err := os.Stat(p.path); err != nil || !os.SameFile(is, file) || !writes(&l.run, now) {
			return nil //nolint:nilerr // it ended, or another file has its name
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookEvery):
		}
	}
}

// feed gives rows to the ranks' comparison, a second after the other, and returns from when on to look next.
func (p *pusher) feed(to *peers.Peers, rows []store.RankSteps, from uint64, began time.Time) uint64 {
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].At == rows[0].At {
			n++
		}
		to.Batch(&store.Batch{Tables: store.Tables{RankSteps: rows[:n]}})
		p.pass(to, rows[0].At, began)
		for i := range rows[:n] {
			if rows[i].Ended {
				p.names.forgetProcess(rows[i].PID)
			}
		}
		from = rows[0].At + uint64(time.Millisecond) // rows of the same time follow it closely
		rows = rows[n:]
	}
	return from
}

// pass has the ranks' comparison look at what it knows, at a time of the recording (Unix ns).
func (p *pusher) pass(to *peers.Peers, ns uint64, began time.Time) {
	at := time.Unix(0, int64(ns))
	to.Second(at, at.Sub(began), p.names.list())
}

// explain looks for who makes ranks slow, in the last seconds of the recording.
func (p *pusher) explain(ctx context.Context, r store.Reader, to *peers.Peers, now time.Time) {
	in, err := diagnose.Load(ctx, r, store.Window{From: uint64(now.Add(-diagnose.LiveWindow).UnixNano())})
	if err != nil {
		p.log.Warn("cannot diagnose the recording", "err", err)
		return
	}
	in.Live = true
	to.Found(diagnose.Diagnose(in))
}

// show prints an event.
func (p *pusher) show(e *wire.Event, who string) {
	if !p.flags.asJSON {
		fmt.Fprintln(p.c.out, eventLine(e, who))
		return
	}
	j := json.NewEncoder(plain.JSONWriter{To: p.c.out})
	j.SetEscapeHTML(false)
	if err := j.Encode(jsonEvent{"event", e.At.UnixNano(), e}); err != nil {
		p.log.Warn("an event cannot be printed", "err", err)
	}
}
