package main

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/ingero-io/ingero/cluster/peers"
	"github.com/ingero-io/ingero/store"
)

// names are those of the processes of ranks in a recording. Its methods may be called by several goroutines.
type names struct {
	mu sync.Mutex // guards what follows
	by map[uint32]string
}

// learn reads the names of processes that are new.
func (n *names) learn(ctx context.Context, r store.Reader, rows []store.RankSteps) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	fresh := map[uint32]bool{}
	for i := range rows {
		if _, known := n.by[rows[i].PID]; !known && !rows[i].Ended {
			fresh[rows[i].PID] = true
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	list, err := store.List[store.Process](ctx, r, store.Window{})
	if err != nil {
		return err
	}
	if n.by == nil {
		n.by = map[uint32]string{}
	}
	for pid := range fresh {
		n.by[pid] = ""
	}
	for i := range list {
		if fresh[list[i].PID] {
			n.by[list[i].PID] = list[i].Name
		}
	}
	return nil
}

// forgetProcess forgets a process, which has ended.
func (n *names) forgetProcess(pid uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.by, pid)
}

// clear forgets all of them.
func (n *names) clear() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.by)
}

// nameOf is a process's name, empty if it is not known.
func (n *names) nameOf(pid uint32) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.by[pid]
}

// list is all of them, by number.
func (n *names) list() (list []peers.Process) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for pid, name := range n.by {
		list = append(list, peers.Process{PID: pid, Name: name})
	}
	slices.SortFunc(list, func(a, b peers.Process) int { return cmp.Compare(a.PID, b.PID) })
	return list
}
