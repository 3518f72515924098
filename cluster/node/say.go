package node

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
)

// lowerClock is the share by which a GPU's clock must have fallen for its rank to count as slow although its host has
// time to spare. In that case the host's waits do not show how long the GPU takes.
const lowerClock = 0.03

// say reports a verdict, unless nobody waits for the rank.
func (n *Node) say(r *rank, v health.Verdict, out []Said) []Said {
	switch v.Kind {
	case health.KindStraggler, health.KindSlowVsSelf:
	default:
		return append(out, n.about(r, v))
	}
	if !v.Resolved {
		r.held, r.usualClock = &v, r.clock.before(v.Since)
		return n.review(r, out)
	}
	r.held = nil
	return n.resolve(r, v, out)
}

// resolve reports the end of an earlier report.
func (n *Node) resolve(r *rank, v health.Verdict, out []Said) []Said {
	if r.reported == nil || r.reported.Kind != v.Kind {
		return out
	}
	end := Said{Verdict: v, PID: r.pid, Ranks: r.source.Ranks, Step: r.judge.Interval(), ID: r.reported.ID}
	r.reported = nil
	return append(out, end)
}

// review reconsiders a held verdict: it may become known later that others wait for the rank.
func (n *Node) review(r *rank, out []Said) []Said {
	if r.held == nil || r.spare() {
		return out
	}
	s := n.about(r, *r.held)
	s.Cause = r.cause(r.held)
	r.reported, r.held = &s, nil
	return append(out, s)
}

// spare reports whether nobody waits for the rank: its host has time to spare, and its GPU is not known to have
// slowed down.
func (r *rank) spare() bool {
	return r.idle && r.fallen() < lowerClock
}

func (n *Node) about(r *rank, v health.Verdict) Said {
	return Said{Verdict: v, PID: r.pid, Ranks: r.source.Ranks, Step: r.judge.Interval(), ID: n.uuid(&v)}
}

// uuid returns a UUID of version 8 (RFC 9562), made from the verdict's node, cohort, rank, kind and time. It is
// unique without a source of random numbers.
func (n *Node) uuid(v *health.Verdict) string {
	b := binary.BigEndian.AppendUint64(nil, n.id)
	b = binary.BigEndian.AppendUint64(b, v.Cohort)
	b = binary.BigEndian.AppendUint32(b, uint32(v.Rank))
	b = binary.BigEndian.AppendUint64(append(b, byte(v.Kind)), uint64(v.At))
	h := sha256.Sum256(b)
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// trend has means of a GPU's clock, about one per second.
type trend struct {
	means [64]mean
	n     int // so far
}

type mean struct {
	from  time.Duration
	sum   float64
	count int
}

// addShare takes in the GPU's clock in a step, as a share of the maximum; 0 is not known.
func (t *trend) addShare(at time.Duration, share float64) {
	if share <= 0 {
		return
	}
	m := &t.means[(t.n+len(t.means)-1)%len(t.means)]
	if t.n == 0 || at-m.from >= time.Second {
		m = &t.means[t.n%len(t.means)]
		*m = mean{from: at}
		t.n++
	}
	m.sum += share
	m.count++
}

// before returns the mean of the clocks before a time, 0 if there are none.
func (t *trend) before(since time.Duration) float64 {
	var all mean
	for i := range min(t.n, len(t.means)) {
		if m := &t.means[i]; m.from < since {
			all.sum += m.sum
			all.count += m.count
		}
	}
	return all.sum / float64(max(all.count, 1))
}

// fallen returns the share by which the clock of a slow rank's GPU has fallen since it became slow; 0 if that is not
// known.
func (r *rank) fallen() float64 {
	if r.usualClock == 0 {
		return 0
	}
	m := &r.clock.means[(r.clock.n-1)%len(r.clock.means)]
	return 1 - m.sum/float64(m.count)/r.usualClock
}
