package nodes

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ingero-io/ingero/serve/nodeapi/wire"
)

// samples is how often a node's clock is read: one delayed reading does not change the median.
const samples = 5

// Clock is by how much a node's clock is ahead of this machine's. The true value is within Offset ±
// Bound, whatever the network did: an answer cannot arrive before it was sent.
type Clock struct {
	Node   string        `json:"node"` // its address
	Offset time.Duration `json:"offset_ns"`
	Bound  time.Duration `json:"bound_ns"`
}

// sample is one reading: this machine's clock before and after, the node's in between.
type sample struct{ sent, received, answered, got int64 }

// clock is the offset and bound from a reading.
func (s sample) clock() Clock {
	return Clock{
		Offset: time.Duration(((s.received - s.sent) + (s.answered - s.got)) / 2),
		Bound:  time.Duration(max((s.got-s.sent)-(s.answered-s.received), 0)+1) / 2,
	}
}

// median is the reading in the middle.
func median(list []Clock) Clock {
	slices.SortFunc(list, func(a, b Clock) int { return int(a.Offset - b.Offset) })
	return list[len(list)/2]
}

// readClock reads a node's clock. The first answer is ignored: a connection may have to be opened
// for it.
func (cl *Client) readClock(ctx context.Context, address string) (Clock, error) {
	var list []Clock
	for i := range samples + 1 {
		var t wire.Time
		s := sample{sent: cl.config.Now().UnixNano()}
		if err := cl.get(ctx, address, "time", nil, &t); err != nil {
			return Clock{}, err
		}
		s.got, s.received, s.answered = cl.config.Now().UnixNano(), t.ReceivedNS, t.SentNS
		if i > 0 {
			list = append(list, s.clock())
		}
	}
	c := median(list)
	c.Node = address
	return c, nil
}

// clocks reads all nodes' clocks. Those that cannot be read are left out: the question sent at the
// same time reports the reason.
func (cl *Client) clocks(ctx context.Context) []Clock {
	list := []Clock{}
	for _, r := range each(ctx, cl, cl.readClock) {
		if r.err == nil {
			list = append(list, r.value)
		}
	}
	return list
}

// skewed lists the clocks that differ from those of most other nodes by certainly more than the
// limit.
func (cl *Client) skewed(clocks []Clock) []string {
	if len(clocks) < 2 {
		return nil
	}
	middle := median(slices.Clone(clocks))
	if len(clocks) == 2 { // two clocks have no middle: the first is the reference
		middle = clocks[0]
	}
	var list []string
	for _, c := range clocks {
		d, bound := c.Offset-middle.Offset, c.Bound+middle.Bound
		if c.Node == middle.Node || max(d, -d)-bound <= cl.config.MaxOffset {
			continue
		}
		way := "ahead of"
		if d < 0 {
			way, d = "behind", -d
		}
		list = append(list,
			fmt.Sprintf("the clock of %s is %s (± %s) %s that of %s: times of one do not compare with times of the other",
				c.Node, short(d), short(bound), way, middle.Node))
	}
	return list
}

// short is a duration with three digits.
func short(d time.Duration) string {
	unit := time.Nanosecond
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

// asked is the replies to a question with the clocks, read at the same time.
func asked[T any](
	ctx context.Context, cl *Client, ask func(ctx context.Context, address string) (T, error),
) ([]reply[T], []Clock,
) {
	read := make(chan []Clock, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // clocks still being read are dropped once the question is answered
	go func() { read <- cl.clocks(ctx) }()
	replies := each(ctx, cl, ask)
	return replies, cl.wait(ctx, read)
}

// patience is how much longer than the question clocks may take.
const patience = 500 * time.Millisecond

// wait returns the clocks if they come soon.
func (cl *Client) wait(ctx context.Context, read <-chan []Clock) []Clock {
	select {
	case list := <-read:
		return list
	case <-ctx.Done():
	case <-time.After(patience):
	}
	return []Clock{}
}
