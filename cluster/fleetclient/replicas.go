package fleetclient

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/replicas"
	"github.com/ingero-io/ingero/cluster/wire"
)

// Replicas is a client of several fleets, each of which has some of the cohorts. Its methods may be called by several
// goroutines.
type Replicas struct {
	addresses []string
	clients   []*Client
	log       *slog.Logger
	began     time.Time
	ctx       context.Context // of notices; Close ends it
	stop      context.CancelFunc
	running   sync.WaitGroup // notices

	mu      sync.Mutex // guards the rest
	chooser *replicas.Chooser
	asking  map[notice]bool // notices in flight
	closed  bool
}

// notice tells a replica that a cohort's ranks are no longer pushed to it.
type notice struct {
	cohort  uint64
	replica int
}

// NewReplicas makes clients of one fleet or more. All agents must be given the same fleets, in any order. When a
// cohort moves to another fleet, that is logged, unless log is nil.
func NewReplicas(log *slog.Logger, options ...Options) (*Replicas, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	r := &Replicas{log: log, asking: map[notice]bool{}}
	for i := range options {
		if slices.Contains(r.addresses, options[i].URL) {
			r.Close()
			return nil, errors.New("the fleet " + options[i].URL + " is there twice")
		}
		c, err := New(options[i])
		if err != nil {
			r.Close()
			return nil, err
		}
		r.addresses, r.clients = append(r.addresses, options[i].URL), append(r.clients, c)
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	r.chooser, r.began = replicas.New(replicas.Names(r.addresses)), time.Now()
	return r, nil
}

// Close cancels requests in flight, and closes connections.
func (r *Replicas) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	if r.stop != nil {
		r.stop()
	}
	r.running.Wait()
	for _, c := range r.clients {
		c.Close()
	}
}

// Polls reports whether all fleets can be polled.
func (r *Replicas) Polls() bool {
	return !slices.ContainsFunc(r.clients, func(c *Client) bool { return !c.Polls() })
}

// Reachable reports whether any of the fleets is reachable.
func (r *Replicas) Reachable() bool { return slices.ContainsFunc(r.clients, (*Client).Reachable) }

// now returns a time that never goes back, even if the clock is set. It is never 0, which means "never" to the
// chooser.
func (r *Replicas) now() time.Duration { return time.Since(r.began) + 1 }

// Push sends a push to the fleet that has the cohort. If that fleet cannot be reached, it tries the next one at once.
// The answer and the error are those of the fleet it asked last, as of Client.Push.
func (r *Replicas) Push(ctx context.Context, p *wire.Push) (wire.Answer, error) {
	if len(r.clients) == 1 {
		return r.clients[0].Push(ctx, p)
	}
	one := *p
	one.Health.Others = true
	id := p.Health.Cohort
	r.mu.Lock()
	to, notices := r.chooser.Push(r.now(), id)
	r.mu.Unlock()
	r.notices(&one, notices)
	var a wire.Answer
	var err error
	for range r.clients { // each fleet at most once a push
		if a, err = r.clients[to].Push(ctx, &one); ctx.Err() != nil {
			return a, err
		}
		next, again, notices := r.took(id, to, &a, err)
		r.notices(&one, notices)
		if next != to {
			r.log.Info("a cohort is pushed to another fleet", "cohort", id, "from", r.addresses[to], "to", r.addresses[next],
				"err", err)
		}
		if !again {
			break
		}
		to = next
	}
	return a, err
}

// took hands the outcome of a push to the chooser.
func (r *Replicas) took(id uint64, to int, a *wire.Answer, err error) (next int, again bool, notices []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case a.Reply != nil:
		return to, false, r.chooser.Answered(r.now(), id, to, a.Reply.Live, a.Reply.Size)
	case err == nil:
		return to, false, r.chooser.Answered(r.now(), id, to, 0, 0)
	}
	next, again = r.chooser.Failed(r.now(), id, to, unreachable(err))
	return next, again, nil
}

// unreachable reports whether an error is a network error. Otherwise the fleet has answered, or had asked to wait.
func unreachable(err error) bool {
	_, held := errors.AsType[*HeldError](err)
	_, status := errors.AsType[*StatusError](err)
	_, wrong := errors.AsType[*wire.Error](err)
	return !held && !status && !wrong
}

// notices sends notices about the ranks of a push. It does not wait for them.
func (r *Replicas) notices(p *wire.Push, to []int) {
	if len(to) == 0 {
		return
	}
	gone := &wire.Push{Node: p.Node, Cluster: p.Cluster, WorldSize: p.WorldSize, Health: p.Health}
	gone.Health.Sent++ // a notice may follow the push within its nanosecond
	gone.Health.Echo, gone.Health.Ranks = health.Summary{}, slices.Clone(p.Health.Ranks)
	for i := range gone.Health.Ranks {
		gone.Health.Ranks[i].Exited = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range to {
		n := notice{gone.Health.Cohort, k}
		if r.asking[n] || r.closed {
			continue
		}
		r.asking[n] = true
		r.running.Go(func() { r.give(n, gone) })
	}
}

// give sends a notice.
func (r *Replicas) give(n notice, p *wire.Push) {
	a, err := r.clients[n.replica].Push(r.ctx, p)
	r.notices(p, r.noticed(n, &a, err))
}

// noticed hands the outcome of a notice to the chooser.
func (r *Replicas) noticed(n notice, a *wire.Answer, err error) (notices []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.asking, n)
	switch {
	case r.closed:
	case err == nil && a.Reply != nil:
		return r.chooser.Noticed(r.now(), n.cohort, n.replica, a.Reply.Live)
	default:
		r.chooser.NoticeFailed(r.now(), n.cohort, n.replica)
	}
	return nil
}

// Poll polls the fleet that has the cohort. It returns the same errors as Client.Poll.
func (r *Replicas) Poll(ctx context.Context, p wire.Poll) (wire.Answer, error) {
	r.mu.Lock()
	at := r.chooser.At(r.now(), p.Health.Cohort)
	r.mu.Unlock()
	return r.clients[at].Poll(ctx, p)
}

// Cohorts asks all fleets for their lists; if cluster is not empty, for that cluster only. It returns the lists
// joined, nil if no fleet answered, and the errors of the others by address.
func (r *Replicas) Cohorts(ctx context.Context, cluster string) (list *wire.CohortList, failed map[string]error) {
	lists, errs := make([]*wire.CohortList, len(r.clients)), make([]error, len(r.clients))
	var all sync.WaitGroup
	for i, c := range r.clients {
		all.Go(func() { lists[i], errs[i] = c.Cohorts(ctx, cluster) })
	}
	all.Wait()
	failed = map[string]error{}
	for i, err := range errs {
		if err != nil {
			failed[r.addresses[i]] = err
		}
	}
	lists = slices.DeleteFunc(lists, func(l *wire.CohortList) bool { return l == nil })
	if len(lists) == 0 {
		return nil, failed
	}
	return wire.MergeCohorts(lists...), failed
}
