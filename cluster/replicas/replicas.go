// Package replicas chooses to which of several fleets a node pushes. Each cohort has its own order of them, which is
// the same on all nodes that are given the same fleets, so that nodes agree without talking: rendezvous hashing. If the
// first one does not answer, the next one is asked, and the first one again when it has answered for a while.
//
// A node that pushes elsewhere gives notice where it was before, and where the others may be: a push in which its ranks
// have ended. Then no fleet takes a node for silent that has moved. What a fleet answers to a notice says how many
// ranks push to it. By this nodes find each other again if only some of them reach a fleet: all of them go where those
// are that cannot come.
//
// The package has no clock, no I/O and no goroutines. Times are since any moment; they must never go back.
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

// The times by which nodes move.
const (
	// downFor is for how long after a failure no other cohort tries a replica first.
	downFor = 3 * health.PushEvery
	// firstPatience is for how long a better replica must answer before a cohort goes back to it, if most of its peers are
	// not there yet. It doubles, up to mostPatience, each time that going back was wrong within soonWrong, or that others
	// could not follow; after steadyFor in the first replica it is as at first.
	firstPatience, mostPatience = 10 * time.Second, 10 * time.Minute
	soonWrong, steadyFor        = time.Minute, 10 * time.Minute
	// settledAfter is how long a cohort is at a replica before it looks for those that are elsewhere: others come when
	// they have noticed the same, and those that have left are live for three pushes.
	settledAfter = 4 * health.PushEvery
	// looks is how often it looks when ranks have fallen silent, lookEvery how often else, while not all ranks push.
	looks, lookEvery = 3, 30 * time.Second
	// foundTwice is how often a part of the cohort must be found elsewhere: a node of which one push was lost is back by
	// then.
	foundTwice = 2
	// notices is how often a node gives notice that it has left, if there is no answer.
	notices = 3
	// softFailures is after how many pushes in a row that were refused a cohort moves.
	softFailures = 3
	// unusedFor is when a cohort is forgotten.
	unusedFor = 10 * time.Minute
)

// Names are what fleets are chosen by: of their addresses, which are URLs. Those of the same machine are chosen by the
// machine, so that nodes that push over HTTP agree with those that push over gRPC, unless two of them are on one.
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

// Order is the replicas of a cohort, as indices of names, the first one first: by the first 8 bytes of the SHA-256 of
// the name, after its length in 4 bytes, and the cohort's number in 8, big-endian; the highest first.
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

// Chooser chooses for a node. It is not safe for concurrent use.
type Chooser struct {
	names   []string
	failed  []time.Duration // by replica: when it failed last, 0: it has answered since
	cohorts map[uint64]*cohort
}

// cohort is where the ranks of a cohort on this node are. A place is an index of order.
type cohort struct {
	order    []int
	at       int           // place
	arrived  time.Duration // when it came there
	used     time.Duration
	refused  int    // pushes in a row
	live     uint32 // ranks, by the last answer
	size     uint32 // of so many; 0: there was no answer yet
	driven   bool   // it came because others could not come to where it was
	back     bool   // it came back
	patience time.Duration
	places   []place
	fewest   uint32 // live ranks when it looked last
	looks    int    // that are left
	looked   time.Duration
}

// place is what is known of another replica, by notices.
type place struct {
	since time.Duration // from when on it has answered all of them, 0: it has not
	heard time.Duration // when it answered last
	live  uint32
	leave int // how often to say there that the ranks have left
	found int // how often a part of the cohort was found there
}

// New returns a chooser among fleets of these names; there must be one at least.
func New(names []string) *Chooser {
	return &Chooser{names: names, failed: make([]time.Duration, len(names)), cohorts: map[uint64]*cohort{}}
}

// At is which replica a cohort is at.
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

// usable is the first place of a cohort, but one, that has not failed lately; -1: there is none.
func (c *Chooser) usable(now time.Duration, k *cohort, but int) int {
	return slices.IndexFunc(k.order, func(r int) bool {
		return (but < 0 || r != k.order[but]) && (c.failed[r] == 0 || now-c.failed[r] >= downFor)
	})
}

// Push says where a push that is due goes, and which replicas are to get a notice.
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

// goBack goes to where its peers are, or to a better place that has answered for long.
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

// follows reports whether peers of the cohort are at a place, so that it goes there, too.
func (k *cohort) follows(now time.Duration, i int) bool {
	p := &k.places[i]
	switch {
	case p.live == 0:
		return false
	case k.driven: // those whom it has followed here have gone there
		return i < k.at && now-k.arrived >= settledAfter && k.live < k.size
	}
	return p.live >= k.live && (i < k.at || !k.back) // most of them
}

func (k *cohort) move(now time.Duration, to int) {
	k.places[k.at] = place{leave: notices}
	k.places[to].leave, k.places[to].found = 0, 0
	k.at, k.arrived, k.refused = to, now, 0
	k.live, k.size, k.fewest, k.looks = 0, 0, ^uint32(0), 0
	k.driven, k.back = false, false
}

// Answered takes what the answer to a push says: how many ranks are live, of how many; 0, 0: it does not say. It
// returns replicas that are to get a notice at once.
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

// Failed takes that a push was not answered; hard: the replica cannot be reached, else it has refused the push. again
// says that it is to be sent to another one at once.
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

// Noticed takes that a notice was answered: so many ranks of the cohort are live there. It returns replicas that are to
// get a notice at once, because the cohort goes elsewhere.
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

// NoticeFailed takes that a notice was not answered.
func (c *Chooser) NoticeFailed(now time.Duration, id uint64, replica int) {
	k := c.cohort(now, id)
	p := &k.places[slices.Index(k.order, replica)]
	p.since, p.live, p.leave = 0, 0, max(0, p.leave-1)
	if c.failed[replica] == 0 {
		c.failed[replica] = now
	}
}
