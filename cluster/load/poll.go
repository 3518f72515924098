package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// polls polls at a steady rate until ctx ends. The time of an answer counts from when the poll was due: if it had to
// wait for earlier polls, so would an agent have waited.
func (r *run) polls(ctx context.Context, began time.Time) {
	if r.o.PollRate == 0 {
		return
	}
	u, err := url.Parse(r.o.Polls)
	if err != nil || u.Scheme != "http" {
		err := fmt.Sprintf("polls: invalid address %q: write http://HOST:PORT", r.o.Polls)
		r.first.CompareAndSwap(nil, &err)
		return
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for i := range pollers {
		all.Go(func() {
			c := &overHTTP{host: u.Host, token: r.o.Token}
			defer c.close()
			random := rand.New(rand.NewPCG(2, uint64(i)))
			for {
				k := next.Add(1) - 1
				due := began.Add(time.Duration(float64(k) / float64(r.o.PollRate) * float64(time.Second)))
				if wait(ctx, time.Until(due)) != nil {
					return
				}
				r.poll(ctx, c, random.IntN(r.o.Nodes), due)
			}
		})
	}
	all.Wait()
}

// poll sends a poll about a rank of a node.
func (r *run) poll(ctx context.Context, c *overHTTP, node int, due time.Time) {
	p := wire.Poll{Cluster: cluster, Node: name(node), Health: health.Poll{
		Cohort: cohortOf(&r.o, node), Rank: int32(node % r.o.Cohort * r.o.Ranks), State: health.Active,
	}}
	quorum, err := c.get(ctx, wire.PollPath+"?"+p.Query())
	took := time.Since(due)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.took = append(r.took, took)
	r.polled++
	if err != nil || !quorum {
		r.refused++
	}
}
