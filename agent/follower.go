package agent

import (
	"errors"
	"log/slog"
	"time"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
)

// follower is one observer of a run: a table of hooks, each of which may be nil. The run's loop
// calls them one at a time, in the order of newFollowers. What an observer needs, and its hooks,
// are in its own file.
//
// A run calls them in this order: start; then turns, until it ends; then ending, stop, what is
// left in the ring (life, records, ended), the last second, and close.
//
// A turn is: mapped for each mapping, traced for each process that begins to be traced by one;
// rescanned if processes had to be looked for; then, for each part of what was drained, life
// (and traced) for each process or thread, and records for all of it; ended; turn; and second,
// once a second.
type follower struct {
	// start is called once all existing libraries are attached to, before the command runs.
	start func(*beginning)
	// mapped reports a file that a process mapped executable. For a new process, it may come before
	// life.
	mapped func(probe.Mapped)
	// traced reports a process that is found after start to use a library, by its mappings or
	// its first call. For a child of a traced process, there may be life only.
	traced func(pid int)
	// rescanned is called after a scan of all processes, which is done if mappings were missed.
	rescanned func()
	// life reports that a thread or process began, executed a program or ended. It comes before
	// the calls made up to then.
	life func(*event.Life)
	// records takes the drained records, and adds to the batch what it derives from them.
	records func(*workItem)
	// ended lists threads and processes from which no more records will come.
	ended func([]event.Life)
	// turn is called at the end of each turn.
	turn func(now time.Time)
	// second is called once a second, and a last time when all records have been taken.
	second func(*second)
	// ending is called before the run's command is asked to exit, or else at the end of a run. It may
	// add records.
	ending func(*workItem)
	// stop detaches the observer's own programs, while the tracer's are still attached. Their
	// counters go into the last second.
	stop func(*Summary) error
	// close releases the rest. It is called at the end of each run, also of one that failed, at
	// any time after the follower was made.
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

// beginning describes the start of a run to followers.
type beginning struct {
	command *Command // nil: no command
	started Start    // for Options.Started; a follower may add to it
}

// second is the second that has just passed.
type second struct {
	now    time.Time
	span   time.Duration // since the last one
	last   bool          // no more records will come
	item   *workItem     // takes what is recorded
	status *Status       // to be filled in
	// lost are totals since the start, by event.LossKind. A follower adds its own.
	lost [event.NumLossKinds]uint64
}

type followers []follower

// newFollowers is the list of all followers. Where their order matters, a comment says so.
func newFollowers(s *shared, names *processTable) followers {
	footprints := newFootprints(s, names)
	return followers{
		newHostIO(s.fs).follower(s), // before names: it finds the owners of connections
		newMeter().follower(s, names),
		newAccounts().follower(),
		newInnerLinks(s).follower(),
		names.follower(s, footprints.watches), // before those that ask it for names
		newLibraries(s.fs, s.log).follower(s.targets),
		gpuFollower(s, names),
		footprints.follower(),
		pagesFollower(s),
		newSettings(s.fs).follower(),
		newPythons(s.tracer, s.fs, s.opts.Stack, s.log).follower(s.targets),
		newInFlightTracker(s.fs).follower(s),
		new(marks).follower(),
		labelsFollower(s),
		rankEventsFollower(s),
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
