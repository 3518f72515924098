package agent

import (
	"errors"
	"log/slog"
	"time"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
)

// follower is one observer of a run: a table of hooks, each of which may be missing. All are
// called by the run's loop, one at a time, in the order of newFollowers. What an observer needs,
// and its hooks, are in its own file.
//
// A run calls them in this order: start; then turns, until it ends; then ending, stop, what is
// left in the ring (life, records, ended), the last second, and close.
//
// A turn is: mapped for each mapping, traced for each process that begins to be traced by one;
// rescanned if processes had to be looked for; then, for each part of what was drained, life
// (and traced) for each process or thread, and records for all of it; ended; turn; and second,
// once a second.
type follower struct {
	// start is called once all that exists is attached to, before the command runs.
	start func(*beginning)
	// mapped reports a file that a process mapped executable. For a new process, it may come before
	// life.
	mapped func(probe.Mapped)
	// traced reports a process that turns out after start to use a library, by its mappings or its
	// first call. For a child of a traced process, there may be life only.
	traced func(pid int)
	// rescanned is called after a scan of all processes, which is needed if mappings were missed.
	rescanned func()
	// life reports that a thread or process began, executed a program or ended. It comes before the
	// calls that were made by then.
	life func(*event.Life)
	// records takes what was drained, and adds to the batch what it learns from that.
	records func(*workItem)
	// ended lists threads and processes from which no more records will come.
	ended func([]event.Life)
	// turn is called at the end of each turn.
	turn func(now time.Time)
	// second is called once a second, and a last time when all records have been taken.
	second func(*second)
	// ending is called when the run is over, before its command is asked to end. It may add records.
	ending func(*workItem)
	// stop detaches the observer's own programs, while the tracer's are still attached. What they
	// counted goes into the last second.
	stop func(*Summary) error
	// close releases what is left. It is called at the end of a run that failed too, at any time
	// after the follower was made.
	close func()
}

// shared is what the run's loop and its followers use.
type shared struct {
	opts    *Options
	log     *slog.Logger
	tracer  *probe.Tracer
	fs      proc.FS
	targets *targets
}

// beginning is what a run begins with.
type beginning struct {
	command *command // nil: none was asked for
	started Start    // what Options.Started is told; a follower may add to it
}

// second is the one that has just passed.
type second struct {
	now    time.Time
	span   time.Duration // since the one before
	last   bool          // no more records will come
	item   *workItem     // takes what is recorded
	status *Status       // to be filled in
	// lost are totals since the start, by event.LossKind. A follower adds its own.
	lost [event.NumLossKinds]uint64
}

type followers []follower

// newFollowers is the list of all. A new one is a file, and a line here. Where the order matters,
// it is said.
func newFollowers(s *shared) followers {
	names := newProcessTable(s.fs)
	footprints := newFootprints(s, names)
	return followers{
		newHostIO(s.fs).follower(s), // before names: it finds out whose connections are
		newMeter().follower(s, names),
		newAccounts().follower(),
		newInnerLinks(s).follower(),
		names.follower(s, footprints.watches), // before those that ask it for names
		gpuFollower(s, names),
		footprints.follower(),
		pagesFollower(s),
		newPythons(s.tracer, s.fs, s.opts.Stack, s.log).follower(s.targets),
		newInFlightTracker().follower(s),
		newOwnUse(s.log).follower(), // last: it frees code that the others have just used
	}
}

// each calls a hook of every follower that has it.
func each[A any](f followers, hook func(*follower) func(A), arg A) {
	for i := range f {
		if h := hook(&f[i]); h != nil {
			h(arg)
		}
	}
}

func (f followers) start(b *beginning) {
	each(f, func(f *follower) func(*beginning) { return f.start }, b)
}

func (f followers) mapped(m probe.Mapped) {
	each(f, func(f *follower) func(probe.Mapped) { return f.mapped }, m)
}

func (f followers) traced(pid int) { each(f, func(f *follower) func(int) { return f.traced }, pid) }

func (f followers) life(l *event.Life) {
	each(f, func(f *follower) func(*event.Life) { return f.life }, l)
}

func (f followers) records(u *workItem) {
	each(f, func(f *follower) func(*workItem) { return f.records }, u)
}

func (f followers) ended(l []event.Life) {
	each(f, func(f *follower) func([]event.Life) { return f.ended }, l)
}

func (f followers) turn(now time.Time) {
	each(f, func(f *follower) func(time.Time) { return f.turn }, now)
}

func (f followers) second(s *second) { each(f, func(f *follower) func(*second) { return f.second }, s) }

func (f followers) ending(u *workItem) {
	each(f, func(f *follower) func(*workItem) { return f.ending }, u)
}

func (f followers) rescanned() {
	for i := range f {
		if h := f[i].rescanned; h != nil {
			h()
		}
	}
}

func (f followers) stop(s *Summary) error {
	var err error
	for i := range f {
		if h := f[i].stop; h != nil {
			err = errors.Join(err, h(s))
		}
	}
	return err
}

func (f followers) close() {
	for i := range f {
		if h := f[i].close; h != nil {
			h()
		}
	}
}
