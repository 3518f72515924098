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

// Replicas asks several fleets, of which each has some of the cohorts. Its methods may be called by several goroutines.
type Replicas struct {
	addresses []string
	clients   []*Client
	log       *slog.Logger
	began     time.Time
	ctx       context.Context // of notices; it ends with Close
	stop      context.CancelFunc
	running   sync.WaitGroup // notices

	mu      sync.Mutex // guards the rest
	chooser *replicas.Chooser
	asking  map[notice]bool // notices that are on their way
	closed  bool
}

// notice says to a replica that ranks of a cohort are not there.
type notice struct {
	cohort  uint64
	replica int
}

// NewReplicas makes clients of fleets; there must be one at least. All agents have to be given the same ones, in any
// order. Changes of where a cohort is pushed are logged; nil: nothing is.
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

// Close ends what is on its way, and closes connections.
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

// Polls reports whether all of the fleets can be polled.
func (r *Replicas) Polls() bool {
	return !slices.ContainsFunc(r.clients, func(c *Client) bool { return !c.Polls() })
}

// Reachable reports whether one of the fleets is.
func (r *Replicas) Reachable() bool { return slices.ContainsFunc(r.clients, (*Client).Reachable) }

// now is a time that never goes back, whatever becomes of the clock; 0 means never to the chooser.
func (r *Replicas) now() time.Duration { return time.Since(r.began) + 1 }

// Push sends a push to the fleet that has the cohort; if it cannot be reached, at once to the next one. The answer and
// the error are those of the last one that was asked, as of Client.Push.
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
	for range r.clients { // one that failed first may be worth a try again when the last one has, but not now
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

// took takes what came of a push.
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

// unreachable reports whether an error is one of the network. Else the fleet has answered, or asked to wait.
func unreachable(err error) bool {
	_, held := errors.AsType[*HeldError](err)
	_, status := errors.AsType[*StatusError](err)
	_, wrong := errors.AsType[*wire.Error](err)
	return !held && !status && !wrong
}

// notices sends notices about the ranks of a push. It waits for none of them.
func (r *Replicas) notices(p *wire.Push, to []int) {
	if len(to) == 0 {
		return
	}
	gone := &wire.Push{Node: p.Node, Cluster: p.Cluster, WorldSize: p.WorldSize, Health: p.Health}
	gone.Health.Sent++ // it may follow the push
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

// give gives a notice.
func (r *Replicas) give(n notice, p *wire.Push) {
	a, err := r.clients[n.replica].Push(r.ctx, p)
	r.notices(p, r.noticed(n, &a, err))
}

// noticed takes what came of a notice.
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

// Poll asks the fleet that has the cohort. Errors are as those of Client.Poll.
func (r *Replicas) Poll(ctx context.Context, p wire.Poll) (wire.Answer, error) {
	r.mu.Lock()
	at := r.chooser.At(r.now(), p.Health.Cohort)
	r.mu.Unlock()
	return r.clients[at].Poll(ctx, p)
}

// Cohorts asks all fleets what they know, of one cluster if it has a name. It returns what is known together, nil if
// none answered, and why others did not answer, by their addresses.
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
