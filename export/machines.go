package export

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// machine is a machine of a recording. Ids of processes and threads mean something
// within it only.
type machine struct {
	src         Source
	node        string // as recorded
	name        string // the same, unless another machine has it, too
	first, last uint64 // Unix ns, as in store.Summary
	ahead       int64  // ns, of its clock against the first machine's, as far as known
	opened      bool   // for the export, and to be closed
}

// clocked is a Source that knows how far clocks of its machines are ahead of the first
// one's, by their first sessions.
type clocked interface {
	ClockOffsets(ctx context.Context) (map[int64]int64, error)
}

type machines []*machine

// machinesOf are the machines of a recording, at least one. They are to be closed.
func machinesOf(ctx context.Context, src Source) (list machines, err error) {
	readers, err := sourcesOf(ctx, src)
	if err != nil {
		return nil, err
	}
	names, ahead := map[string]int{}, map[int64]int64{}
	if c, ok := src.(clocked); ok && len(readers) > 1 {
		ahead, err = c.ClockOffsets(ctx)
	}
	for _, r := range readers {
		m := &machine{src: r, opened: len(readers) > 1}
		list = append(list, m)
		sum, failed := r.Summary(ctx)
		err = cmp.Or(err, failed)
		m.node, m.name, m.first, m.last = sum.Node, report.Printable(sum.Node), sum.First, sum.Last
		if len(sum.Sessions) > 0 {
			m.ahead = ahead[sum.Sessions[0].ID]
		}
		if names[m.node]++; names[m.node] > 1 {
			m.name = fmt.Sprintf("%s (%d)", m.name, names[m.node])
		}
	}
	if err != nil {
		list.close()
		return nil, err
	}
	return list, nil
}

// sourcesOf has a source for each machine of a recording; the recording itself if there is but one.
func sourcesOf(ctx context.Context, src Source) ([]Source, error) {
	m, ok := src.(store.Merged)
	if !ok {
		return []Source{src}, nil
	}
	readers, err := m.Machines(ctx)
	if err != nil {
		return nil, fmt.Errorf("read which machines were recorded: %w", err)
	}
	list := make([]Source, 0, len(readers))
	for _, r := range readers {
		s, ok := r.(Source)
		if !ok {
			for _, r := range readers {
				if len(readers) > 1 { // else it is src
					_ = r.Close() // a reader has nothing to lose
				}
			}
			return nil, fmt.Errorf("read one machine of several: %T cannot be exported", r)
		}
		list = append(list, s)
	}
	return list, nil
}

func (l machines) close() {
	for _, m := range l {
		if m.opened {
			_ = m.src.Close() // a reader has nothing to lose
		}
	}
}

// findings are what a report says of a machine.
func (l machines) findings(m *machine, r *report.Report) (chains []*report.Chain) {
	if r == nil {
		return nil
	}
	for i := range r.Chains {
		if c := &r.Chains[i]; l.of(c, r.Node) == m {
			chains = append(chains, c)
		}
	}
	return chains
}

// of is the machine on which time was lost. Of two that have the same name, as one has
// that was started again, it is the one that was recorded then.
func (l machines) of(c *report.Chain, node string) *machine {
	node = cmp.Or(c.Effect.Node, node)
	var found *machine
	for _, m := range l {
		if m.node != node {
			continue
		}
		for _, id := range c.Evidence.EventIDs {
			if at, ok := momentOf(id, store.Window{From: m.first, To: m.last + 1}); ok && at != 0 {
				return m
			}
		}
		found = cmp.Or(found, m)
	}
	return cmp.Or(found, l[0])
}
