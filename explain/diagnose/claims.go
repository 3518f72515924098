package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

// claimList are the claims on one thread's time that have one cause. Its methods answer when, in
// which calls and on what the time was lost.
type claimList []*claim

// seconds returns a function that tells whether time was lost in the second that
// starts at at.
func (l claimList) seconds() func(at uint64) bool {
	const second = 1_000_000_000
	type span struct{ from, to uint64 }
	var spans []span
	for _, cl := range l {
		s := span{cl.acc.Start, cl.acc.End()}
		if cl.through() {
			s = span{cl.row.Start, cl.row.Start + cl.row.Duration}
		}
		spans = append(spans, s)
	}
	return func(at uint64) bool {
		return slices.ContainsFunc(spans, func(s span) bool { return s.from < at+second && at <= s.to })
	}
}

// passed returns how long the thread of a middle link waited for the next, over all claims, ns.
func (l claimList) passed(i int, to *ledger.Link) uint64 {
	var ns uint64
	for _, cl := range l {
		if i < len(cl.chain) && cl.chain[i].Thread == to.Thread && cl.chain[i].Wait != nil {
			ns += cl.chain[i].Through
		}
	}
	return ns
}

// nestedNS returns the time in the driver calls inside the slow ones, over all claims, ns.
func (l claimList) nestedNS() uint64 {
	var ns uint64
	for _, cl := range l {
		if len(cl.acc.Nested) > 0 {
			ns += min(cl.lost, cl.acc.Nested[0].Duration)
		}
	}
	return ns
}

// file returns the inode of most of the waits for the disk, 0 if none is known, and the file's path, if
// known. A file with a path goes before those without: a program that writes a new file each time
// has some that were deleted too soon to be looked up.
func (l claimList) file(hs *hostState) (inode uint64, path string) {
	type file struct {
		inode uint64
		path  string
	}
	by := map[file]uint64{}
	for _, cl := range l {
		for _, o := range cl.waits() {
			if o.Class == event.BlockIO && o.Inode != 0 {
				by[file{o.Inode, hs.path(o.PID, o.Inode)}] += o.Duration
			}
		}
	}
	var best file
	for k, ns := range by {
		named := cmp.Compare(min(len(k.path), 1), min(len(best.path), 1))
		if best.inode == 0 ||
			cmp.Or(named, cmp.Compare(ns, by[best]), cmp.Compare(best.inode, k.inode), cmp.Compare(best.path, k.path)) > 0 {
			best = k
		}
	}
	return best.inode, best.path
}
