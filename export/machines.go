package export

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// machine is a machine of a recording. Ids of processes and threads are valid only within it.
type machine struct {
	src         Source
	node        string // as recorded
	name        string // the same, unless another machine also has it
	first, last uint64 // Unix ns, as in store.Summary
	ahead       int64  // ns, its clock's offset from the first machine's, as far as known
	opened      bool   // by the export, which must close it
}

// clocked is a Source with the clock offsets of its machines from the first one, by their first
// sessions.
type clocked interface {
	ClockOffsets(ctx context.Context) (map[int64]int64, error)
}

type machines []*machine

// machinesOf are the machines of a recording, at least one. The caller must close them.
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

// sourcesOf returns a source for each machine of a recording; the recording itself if there is only
// one.
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
					_ = r.Close() // a reader has no data to lose
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
			_ = m.src.Close() // a reader has no data to lose
		}
	}
}

// findings are a report's findings for a machine.
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

// of is the machine on which time was lost. Of two with the same name, as after a restart, it is
// the one that was recorded at that time.
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
