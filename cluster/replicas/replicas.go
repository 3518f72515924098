// Package replicas chooses which of several fleets a node pushes to. Each cohort has its own order of the fleets,
// from rendezvous hashing. All nodes with the same fleets compute the same order, so they agree without
// communication. If the first fleet does not answer, the node asks the next one, and returns to the first when that
// has answered for a while.
//
// A node that moves to another fleet sends notices to where it was before, and to where its peers may be: a push in
// which its ranks have ended. So no fleet takes a node that has moved for a silent one. The answer to a notice says
// how many ranks push to that fleet. This lets nodes find each other if only some of them reach a fleet: all of them
// go where the nodes are that cannot move.
//
// The package has no clock, no I/O and no goroutines. Times count from any moment; they must never go back.
package replicas

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"net/url"
	"slices"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
)

// When nodes move.
const (
	// downFor is how long after a failure no other cohort tries a replica first.
	downFor = 3 * health.PushEvery
	// firstPatience is how long a better replica must answer before a cohort returns to it, if most of its peers are not
	// there yet. It doubles, up to mostPatience, each time that returning was wrong within soonWrong, or that others
	// could not follow. After steadyFor in the first replica it is reset.
	firstPatience, mostPatience = 10 * time.Second, 10 * time.Minute
	soonWrong, steadyFor        = time.Minute, 10 * time.Minute
	// settledAfter is how long a cohort is at a replica before it looks for peers elsewhere: others come when they have
	// noticed the same, and ranks that have left count as live for three pushes.
	settledAfter = 4 * health.PushEvery
	// looks is how often a cohort looks after ranks have fallen silent, lookEvery the interval otherwise, while not all
	// ranks push.
	looks, lookEvery = 3, 30 * time.Second
	// foundTwice is how often a part of the cohort must be found elsewhere: a node that only lost a push is back by
	// then.
	foundTwice = 2
	// notices is how often a node sends the notice that it has left, if there is no answer.
	notices = 3
	// softFailures is the number of refused pushes in a row after which a cohort moves.
	softFailures = 3
	// unusedFor is the time after which an unused cohort is dropped.
	unusedFor = 10 * time.Minute
)

// Names returns the names that fleets are chosen by, from their addresses, which are URLs. The name is the host, so
// that nodes that push over HTTP agree with those that push over gRPC, unless two fleets are on one host.
func Names(addresses []string) []string {
	hosts, seen := make([]string, 0, len(addresses)), map[string]bool{}
	for _, a := range addresses {
		if u, err := url.Parse(a); err == nil && u.Host != "" {
			hosts = append(hosts, u.Hostname())
			seen[u.Hostname()] = true
		}
	}
	if len(seen) == len(addresses) {
		return hosts
	}
	return slices.Clone(addresses)
}

// Order returns the replicas of a cohort as indices of names, the first choice first. The sort key is the first 8
// bytes of the SHA-256 of the name's length in 4 bytes, the name, and the cohort's number in 8 bytes, big-endian; the
// highest comes first.
func Order(names []string, cohort uint64) []int {
	order, hash := make([]int, len(names)), make([]uint64, len(names))
	for i, n := range names {
		b := append(binary.BigEndian.AppendUint32(nil, uint32(len(n))), n...)
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(b, cohort))
		order[i], hash[i] = i, binary.BigEndian.Uint64(sum[:])
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(hash[b], hash[a]) })
	return order
}

// Chooser chooses for one node. It is not safe for concurrent use.
type Chooser struct {
	names   []string
	failed  []time.Duration // by replica: time of the last failure, 0: it has answered since
	cohorts map[uint64]*cohort
}

// cohort is the state of a cohort's ranks on this node. A place is an index of order.
type cohort struct {
	order    []int
	at       int           // current place
	arrived  time.Duration // when it moved there
	used     time.Duration
	refused  int    // refused pushes in a row
	live     uint32 // live ranks in the last answer
	size     uint32 // ranks in the last answer; 0: no answer yet
	driven   bool   // it moved because others could not come to its old place
	back     bool   // it returned to a better place
	patience time.Duration
	places   []place
	fewest   uint32 // live ranks when it last looked
	looks    int    // looks that are left
	looked   time.Duration
}

// place is what notices have shown of another replica.
type place struct {
	since time.Duration // it has answered every notice since then, 0: it has not
	heard time.Duration // time of its last answer
	live  uint32
	leave int // how often to send the notice that the ranks have left
	found int // how often a part of the cohort was found there
}

// New returns a chooser among the fleets with these names, at least one.
func New(names []string) *Chooser {
	return &Chooser{names: names, failed: make([]time.Duration, len(names)), cohorts: map[uint64]*cohort{}}
}

// At returns the replica that a cohort is at.
func (c *Chooser) At(now time.Duration, id uint64) int {
	k := c.cohort(now, id)
	return k.order[k.at]
}

func (c *Chooser) cohort(now time.Duration, id uint64) *cohort {
	k := c.cohorts[id]
	if k == nil {
		k = &cohort{
			order: Order(c.names, id), arrived: now, patience: firstPatience, places: make([]place, len(c.names)),
		}
		k.at = max(0, c.usable(now, k, -1))
		k.fewest = ^uint32(0)
		c.cohorts[id] = k
	}
	k.used = now
	return k
}

// usable returns the first place of a cohort, except but, that has not failed lately; -1: there is none.
func (c *Chooser) usable(now time.Duration, k *cohort, but int) int {
	return slices.IndexFunc(k.order, func(r int) bool {
		return (but < 0 || r != k.order[but]) && (c.failed[r] == 0 || now-c.failed[r] >= downFor)
	})
}

// Push returns where to send a push that is due, and the replicas to send notices to.
func (c *Chooser) Push(now time.Duration, id uint64) (to int, notices []int) {
	for old, k := range c.cohorts {
		if now-k.used > unusedFor {
			delete(c.cohorts, old)
		}
	}
	k := c.cohort(now, id)
	if k.at == 0 && now-k.arrived > steadyFor {
		k.patience = firstPatience
	}
	k.goBack(now)
	for i := range k.places {
		if i < k.at || i > k.at && k.places[i].leave > 0 {
			notices = append(notices, k.order[i])
		}
	}
	return k.order[k.at], notices
}

// goBack moves the cohort to where its peers are, or to a better place that has answered for long enough.
func (k *cohort) goBack(now time.Duration) {
	for i := range k.places {
		p := &k.places[i]
		if i == k.at || p.since == 0 || now-p.heard > 2*health.PushEvery {
			continue
		}
		if k.follows(now, i) || i < k.at && now-max(p.since, k.arrived) >= k.patience {
			better := i < k.at
			k.move(now, i)
			k.back = better
			return
		}
	}
}

// follows reports whether the cohort's peers are at a place, so that it moves there too.
func (k *cohort) follows(now time.Duration, i int) bool {
	p := &k.places[i]
	switch {
	case p.live == 0:
		return false
	case k.driven: // the peers that it followed here have gone there
		return i < k.at && now-k.arrived >= settledAfter && k.live < k.size
	}
	return p.live >= k.live && (i < k.at || !k.back) // most peers are there
}

func (k *cohort) move(now time.Duration, to int) {
	k.places[k.at] = place{leave: notices}
	k.places[to].leave, k.places[to].found = 0, 0
	k.at, k.arrived, k.refused = to, now, 0
	k.live, k.size, k.fewest, k.looks = 0, 0, ^uint32(0), 0
	k.driven, k.back = false, false
}

// Answered takes in the answer to a push: how many ranks are live, of how many; 0, 0: not in the answer. It returns
// the replicas to send notices to at once.
func (c *Chooser) Answered(now time.Duration, id uint64, replica int, live, size uint32) (notices []int) {
	c.failed[replica] = 0
	k := c.cohort(now, id)
	if k.order[k.at] != replica {
		return nil
	}
	k.refused, k.live, k.size = 0, live, size
	if live >= size {
		for i := range k.places {
			k.places[i].found = 0
		}
		k.fewest, k.looks = ^uint32(0), 0
		return nil
	}
	if now-k.arrived < settledAfter {
		return nil
	}
	switch {
	case live < k.fewest:
		k.looks = looks
	case k.looks == 0 && now-k.looked >= lookEvery:
		k.looks = 1
	}
	k.fewest = live
	if k.looks == 0 {
		return nil
	}
	k.looks--
	k.looked = now
	return slices.Clone(k.order[k.at+1:])
}

// Failed takes in that a push failed. hard: the replica cannot be reached; otherwise it has refused the push. again
// says to send the push to another replica at once.
func (c *Chooser) Failed(now time.Duration, id uint64, replica int, hard bool) (to int, again bool) {
	k := c.cohort(now, id)
	if k.order[k.at] != replica {
		return k.order[k.at], false
	}
	if k.refused++; !hard && k.refused < softFailures || len(k.order) == 1 {
		return replica, false
	}
	c.failed[replica] = now
	if k.back && now-k.arrived < soonWrong {
		k.patience = min(2*k.patience, mostPatience)
	}
	place := c.usable(now, k, k.at)
	again = place >= 0
	if !again {
		place = (k.at + 1) % len(k.order)
	}
	k.move(now, place)
	return k.order[place], again
}

// Noticed takes in the answer to a notice, with the number of the cohort's ranks that are live there. If the cohort
// moves, it returns the replicas to send notices to at once.
func (c *Chooser) Noticed(now time.Duration, id uint64, replica int, live uint32) (notices []int) {
	c.failed[replica] = 0
	k := c.cohort(now, id)
	i := slices.Index(k.order, replica)
	p := &k.places[i]
	p.heard, p.live, p.leave = now, live, 0
	if p.since == 0 {
		p.since = now
	}
	if i <= k.at || live == 0 || k.live >= k.size || now-k.arrived < settledAfter {
		return nil
	}
	if p.found++; p.found < foundTwice {
		return nil
	}
	if k.back {
		k.patience = min(2*k.patience, mostPatience)
	}
	notices = []int{k.order[k.at]}
	k.move(now, i)
	k.driven = true
	return notices
}

// NoticeFailed takes in that a notice was not answered.
func (c *Chooser) NoticeFailed(now time.Duration, id uint64, replica int) {
	k := c.cohort(now, id)
	p := &k.places[slices.Index(k.order, replica)]
	p.since, p.live, p.leave = 0, 0, max(0, p.leave-1)
	if c.failed[replica] == 0 {
		c.failed[replica] = now
	}
}
