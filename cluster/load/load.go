// Package load puts the load of many agents on a fleet, and measures its cost: real pushes and polls over kept
// connections, to a server in another process. To the server they look like those of agents.
//
// It does not test the answers: all ranks are alike, and answers decide nothing.
package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/event/stats"
)

// Options define the load.
type Options struct {
	// URL is the address for pushes: "http://HOST:PORT", or "grpc://HOST:PORT". There is no TLS.
	URL string
	// Polls is the address for polls, over HTTP; empty: URL.
	Polls string
	// Token is sent as "Authorization: Bearer TOKEN". Empty: none.
	Token string
	// Nodes is how many nodes push, Ranks how many ranks each has, Cohort how many nodes make a cohort.
	Nodes, Ranks, Cohort int
	// Every is the time between two pushes of a node; 0: each push follows the last answer.
	Every time.Duration
	// Connections is the number for all nodes together. A connection has one push in flight.
	Connections int
	// PollRate is the number of polls per second, 0: none.
	PollRate int
	// Warm is how long a few nodes push before all do, so that the server has allocated what does not grow with the
	// number of nodes. For is how long to measure.
	Warm, For time.Duration
	// Server is the server under load, nil: not known.
	Server Server
}

// Server is the measured process.
type Server interface {
	// CPU returns the CPU time that it has used.
	CPU() (time.Duration, error)
	// Memory returns its resident memory in bytes.
	Memory() (int64, error)
	// Heap returns the bytes in use after its last garbage collection, 0: not known.
	Heap() int64
}

// Limits of options.
const (
	mostNodes = 1 << 17
	pollers   = 8 // connections for polls
	warmNodes = 64
	atOnce    = 48 // pushes in flight before measuring begins
)

func (o *Options) check() error {
	switch {
	case o.Nodes < 1 || o.Nodes > mostNodes:
		return fmt.Errorf("%d nodes; from 1 to %d", o.Nodes, mostNodes)
	case o.Ranks < 1 || o.Ranks > 64:
		return fmt.Errorf("%d ranks a node; from 1 to 64", o.Ranks)
	case o.Cohort < 1 || o.Cohort*o.Ranks > 1<<14:
		return fmt.Errorf("%d nodes of %d ranks in a cohort; a cohort has %d ranks at most", o.Cohort, o.Ranks, 1<<14)
	case o.Connections < 1 || o.Connections > o.Nodes:
		return fmt.Errorf("%d connections; from 1 to one a node", o.Connections)
	case o.For <= 0 || o.Warm < 0 || o.Every < 0 || o.PollRate < 0:
		return errors.New("times and rates must not be negative")
	}
	return nil
}

// run is a load in progress.
type run struct {
	o       Options
	lines   []*line
	stopped atomic.Bool

	pushes, quorum, errors atomic.Uint64 // since measuring began
	first                  atomic.Pointer[string]

	mu      sync.Mutex // guards the rest
	took    []time.Duration
	polled  uint64
	refused uint64 // polls
}

// Run makes the load until it has measured for o.For, or ctx ends. It counts errors of the server. It returns an
// error about the options, the first connection, or reading the server's use of CPU and memory.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.check(); err != nil {
		return Result{}, err
	}
	if o.Polls == "" {
		o.Polls = o.URL
	}
	r := &run{o: o}
	out := Result{
		URL: o.URL, Nodes: o.Nodes, Ranks: o.Ranks, Cohorts: (o.Nodes + o.Cohort - 1) / o.Cohort,
		Connections: o.Connections,
	}
	if o.Every > 0 {
		out.Asked = float64(o.Nodes) / o.Every.Seconds()
	}
	if err := r.memory(&out.Before); err != nil {
		return Result{}, err
	}
	if err := r.connect(ctx); err != nil {
		return Result{}, err
	}
	defer r.close()
	r.warm(ctx)
	r.heap(&out.Before)
	r.fill(ctx)
	if err := r.measure(ctx, &out); err != nil {
		return Result{}, err
	}
	r.heap(&out.After)
	return out, r.memory(&out.After)
}

func (r *run) memory(m *Memory) (err error) {
	if r.o.Server != nil {
		m.RSS, err = r.o.Server.Memory()
	}
	return err
}

func (r *run) heap(m *Memory) {
	if r.o.Server != nil {
		m.Heap = r.o.Server.Heap()
	}
}

// connect makes the connections, and divides the nodes among them.
func (r *run) connect(ctx context.Context) error {
	for i := range r.o.Connections {
		c, err := dial(ctx, r.o.URL, r.o.Token)
		if err != nil {
			r.close()
			return err
		}
		l := newLine(c, uint64(i))
		for n := i; n < r.o.Nodes; n += r.o.Connections {
			l.nodes = append(l.nodes, n)
		}
		r.lines = append(r.lines, l)
	}
	return nil
}

func (r *run) close() {
	for _, l := range r.lines {
		l.connection.close()
	}
}

// warm lets a few nodes push repeatedly.
func (r *run) warm(ctx context.Context) {
	until := time.Now().Add(r.o.Warm)
	r.each(ctx, func(l *line) {
		for n := l.nodes[0]; n < warmNodes && time.Now().Before(until) && !r.stopped.Load(); {
			r.push(ctx, l, n)
		}
	})
}

// fill lets each node push twice, so that the fleet knows them all. At most atOnce pushes are in flight: a server
// refuses more than it can take.
func (r *run) fill(ctx context.Context) {
	turn := make(chan struct{}, atOnce)
	r.each(ctx, func(l *line) {
		for range 2 {
			for _, n := range l.nodes {
				turn <- struct{}{}
				if ctx.Err() == nil {
					r.push(ctx, l, n)
				}
				<-turn
			}
		}
	})
}

// each runs do for all connections at once, and waits for them.
func (r *run) each(ctx context.Context, do func(l *line)) {
	r.stopped.Store(false)
	stop := context.AfterFunc(ctx, func() { r.stopped.Store(true) })
	defer stop()
	var all sync.WaitGroup
	for _, l := range r.lines {
		all.Go(func() { do(l) })
	}
	all.Wait()
}

// measure makes the measured part of the load.
func (r *run) measure(ctx context.Context, out *Result) error {
	r.pushes.Store(0)
	r.quorum.Store(0)
	r.errors.Store(0)
	r.first.Store(nil)
	cpu, err := r.cpu()
	if err != nil {
		return err
	}
	own, began := usage(), time.Now()
	end, cancel := context.WithDeadline(ctx, began.Add(r.o.For)) // requests in flight then are still answered
	defer cancel()
	var polls sync.WaitGroup
	polls.Go(func() { r.polls(end, began) })
	r.each(end, func(l *line) { r.pace(ctx, end, l, began) })
	took := time.Since(began)
	polls.Wait()
	after, err := r.cpu()
	if err != nil {
		return err
	}
	out.Seconds, out.ServerCPU, out.LoadCPU = took.Seconds(), (after - cpu).Seconds(), (usage() - own).Seconds()
	out.Pushes, out.Quorum, out.Errors = r.pushes.Load(), r.quorum.Load(), r.errors.Load()
	if why := r.first.Load(); why != nil {
		out.FirstError = *why
	}
	slices.Sort(r.took)
	out.Polls, out.PollErrors = r.polled, r.refused
	out.PollP50MS, out.PollP99MS, out.PollMostMS = quantile(r.took, 0.5), quantile(r.took, 0.99), quantile(r.took, 1)
	return nil
}

func (r *run) cpu() (time.Duration, error) {
	if r.o.Server == nil {
		return 0, nil
	}
	return r.o.Server.CPU()
}

// pace lets the nodes of a connection push in turn, each when it is due; late ones push at once. A node that is late
// for its next push too skips one, as agents do.
func (r *run) pace(ctx, end context.Context, l *line, began time.Time) {
	for k := 0; !r.stopped.Load(); k++ {
		if r.o.Every > 0 {
			round, of := k/len(l.nodes), k%len(l.nodes)
			share := (float64(of) + l.phase) / float64(len(l.nodes))
			due := began.Add(time.Duration((float64(round) + share) * float64(r.o.Every)))
			d := time.Until(due)
			if d > 0 && wait(end, d) != nil {
				return
			}
			k += int(-d/r.o.Every) * len(l.nodes)
		}
		r.push(ctx, l, l.nodes[k%len(l.nodes)])
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// push sends a push of a node. It is not counted if ctx ends first.
func (r *run) push(ctx context.Context, l *line, node int) {
	body, err := l.body(&r.o, node, time.Duration(time.Now().UnixNano()))
	quorum := false
	if err == nil {
		quorum, err = l.connection.push(ctx, body)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		r.errors.Add(1)
		why := err.Error()
		r.first.CompareAndSwap(nil, &why)
	default:
		r.pushes.Add(1)
		if quorum {
			r.quorum.Add(1)
		}
	}
}

// usage returns the CPU time that this process has used.
func usage() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// quantile returns a quantile of sorted times, in milliseconds; 0: there are none.
func quantile(sorted []time.Duration, q float64) float64 {
	return stats.Nearest(sorted, q).Seconds() * 1e3
}
