package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

var causeBlockIO = cause{
	kind:         event.CauseBlockIO,
	takes:        blocked | onCPU,
	claimEpisode: claimBlockIO,
	inLink:       func(_ *evidence, l *ledger.Link) uint64 { return ioTime(l) },
	place:        sameDisk,
	counts:       []event.Class{event.BlockIO},
	describe:     describeBlockIO,
}

// claimBlockIO takes waits for the disk: the thread's own, and those of a thread that it waited
// for.
func claimBlockIO(ev *evidence, a *account) []claim {
	claims := a.through(event.CauseBlockIO)
	v := a.take(event.BlockIO, a.left[event.BlockIO]-min(a.left[event.BlockIO], ev.host.locked(a)))
	if v == 0 {
		return claims
	}
	v += a.between(v)
	cl := claim{
		acc: a, key: key{kind: event.CauseBlockIO, loading: ev.loads(a)}, class: event.BlockIO, lost: v, explained: v,
		stall: min(longestIO(a.Rows), a.Duration),
	}
	for _, o := range a.Rows {
		if o.Class == event.BlockIO {
			cl.count++
		}
	}
	if cl.count == 0 && a.Ledger.Voluntary <= 2 {
		cl.stall = v
	}
	return append(claims, cl)
}

// between returns the on-CPU time that belongs to waits for the disk: filling the page cache, submitting
// and completing the requests, ns. Only the short stretches between many waits count, and never
// more than the waits themselves.
func (a *account) between(waits uint64) uint64 {
	split := a.Split()
	n := uint64(a.Ledger.Voluntary)
	if n < minSample || split.OnCPU > n*mergeGap {
		return 0
	}
	v := min(split.OnCPU, waits)
	if a.Call != nil {
		return a.take(event.OnCPU, v)
	}
	return v // between calls, on-CPU time is not counted as lost, so there is nothing to take
}

func sameDisk(ev *evidence, f *finding) (string, bool) {
	if d := diskOf(ev, f); d != nil {
		return d.name, true
	}
	return "", true
}

func describeBlockIO(ev *evidence, f *finding, c *report.Chain) {
	inode, path := f.claims.file(&ev.host)
	disk := "the disk"
	d := diskOf(ev, f)
	if d != nil {
		disk += " " + d.name
	}
	switch {
	case path != "":
		disk += " (" + path + ")"
	case inode != 0:
		disk += fmt.Sprintf(" (inode %d)", inode)
	}
	const on = "block I/O"
	waited, did := f.explained, ev.host.flavour(f.claims)
	t := f.root()
	if f.worst.through() {
		who := f.about(ev)
		c.Summary = fmt.Sprintf("%s lost %s waiting for %s waited for the disk", f.process(ev), f.pct(), f.worst.behind(who))
		c.Cause.Detail = fmt.Sprintf("%s waited for %s", who, disk) + did.detail
		c.Path = f.path(ev, "blocked", on)
		c.Recommendations = []string{
			fmt.Sprintf("let %s write to a buffer under the lock, and to the file after unlocking", who),
			"or put the file on a faster device: the lock is held for as long as the disk takes",
		}
		if !f.worst.locked() {
			c.Recommendations = []string{
				fmt.Sprintf("give %s more workers like %s, or let them read ahead: waits for the disk overlap",
					f.process(ev), ev.procs.who(t, f.sub.PID)),
				"or put the data on a faster device, or in memory",
			}
		}
	} else {
		c.Summary = fmt.Sprintf("%s lost %s waiting for its own disk I/O %s", f.process(ev), f.pct(), f.claims.place())
		c.Cause.Detail = fmt.Sprintf("the thread waited for %s", disk) + did.detail
		c.Path = []report.Step{f.step(ev, "blocked", on, f.lost)}
		c.Recommendations = []string{
			fmt.Sprintf("write from another thread than %d, which launches the GPU's work; hand it the data", f.sub.TID),
			"or write less often, or without fsync where losing the file in a crash is acceptable",
		}
		if did.fix != "" {
			c.Recommendations = []string{fmt.Sprintf(did.fix, f.sub.TID)}
		}
	}
	if d != nil {
		c.Cause.Detail += d.words()
		if d.crowded() {
			c.Recommendations = append(c.Recommendations, fmt.Sprintf("or let %s use %s less meanwhile: another device, or a "+
				"limit (io.max of its control group, ionice)", d.otherName, d.name))
		}
	}
	if inode != 0 && path == "" {
		c.Recommendations = append(c.Recommendations, fmt.Sprintf("find the file: find / -xdev -inum %d", inode))
	}
	if f.loading {
		ev.describeLoading(f, c)
	}
	c.Path = append(c.Path, report.Step{
		Layer: "IO", Process: ev.procs.name(t.PID, ""), PID: t.PID, TID: t.TID,
		Thread: ev.procs.comm(t), State: "blocked", On: disk, NS: waited,
	})
}

// flavour describes a kind of disk wait, and its fix.
type flavour struct{ detail, fix string }

var flavours = struct{ mapped, writeback, read, other flavour }{
	mapped: flavour{
		": pages of a mapped file that were not in the page cache",
		"read the mapped file ahead (madvise MADV_WILLNEED or MADV_POPULATE_READ), in another thread than %d, " +
			"which launches the GPU's work",
	},
	writeback: flavour{
		": writeback, the kernel held its writes back because too many pages were waiting for the disk",
		"write from another thread than %d, and less at once: sync_file_range or O_DIRECT; " +
			"vm.dirty_background_bytes starts the disk earlier",
	},
	read: flavour{
		": it read what was not in the page cache",
		"read from another thread than %d, ahead of need (posix_fadvise POSIX_FADV_WILLNEED); hand over the data, " +
			"not the file",
	},
}

// flavour returns the kind of disk wait in which most time was lost.
func (hs *hostState) flavour(claims claimList) flavour {
	by := map[flavour]uint64{}
	for _, cl := range claims {
		for _, o := range cl.waits() {
			switch {
			case o.Class != event.BlockIO:
			case hs.within(o, writeback):
				by[flavours.writeback] += o.Duration
			case hs.mapped(o):
				by[flavours.mapped] += o.Duration
			case hs.readCalls[o.Syscall]:
				by[flavours.read] += o.Duration
			default:
				by[flavours.other] += o.Duration
			}
		}
	}
	best := flavours.other
	for _, v := range []flavour{flavours.read, flavours.mapped, flavours.writeback} {
		if by[v] > by[best] {
			best = v
		}
	}
	return best
}

// ioTime returns how long a thread did disk I/O, ns: its block-I/O waits, and the short stretches on a
// CPU between two of them, which submit and complete the requests. It is at most twice the waits.
//
// Waits that are too short for a row of their own are known by their sum only. If it is so large
// that they are less than mergeGap apart on average, the stretches between them count, too: on a
// fast disk it must not depend on which of many like waits took a little longer than the others.
func ioTime(l *ledger.Link) uint64 {
	waits := l.Split.NS[event.BlockIO]
	if waits == 0 {
		return 0
	}
	joined, short := mergedIO(l.Rows, l.From, l.To), unlisted(l)
	rest := l.Split.Wall - min(joined, l.Split.Wall)
	if share(short, rest) >= float64(shortWait)/mergeGap {
		short = min(2*short, rest)
	}
	return min(joined+short, 2*waits, l.Split.Wall)
}

// shortWait is the duration from which waits are recorded one by one, ns (probe.Options).
const shortWait = 100_000

// unlisted returns the block-I/O time of a link that is in its totals but not in its rows, ns.
func unlisted(l *ledger.Link) uint64 {
	var listed uint64
	for _, o := range l.Rows {
		if b, e := ledger.Blocked(o); o.Class == event.BlockIO {
			b, e = max(b, l.From), min(e, l.To)
			listed += e - min(b, e)
		}
	}
	return l.Split.NS[event.BlockIO] - min(listed, l.Split.NS[event.BlockIO])
}

// mergeGap is how far apart two block-I/O waits may be and still belong to one
// operation. Copying a megabyte into the page cache takes 0.3 to 1 ms.
const mergeGap = 1_000_000

// mergedIO returns the length of the block-I/O waits in [from, to), ns. Waits close to each other are
// joined.
func mergedIO(rows []*event.OffCPU, from, to uint64) uint64 {
	var total uint64
	joinIO(rows, from, to, func(b, e uint64) { total += e - b })
	return total
}

// longestIO returns the longest of the joined block-I/O waits.
func longestIO(rows []*event.OffCPU) uint64 {
	var most uint64
	joinIO(rows, 0, ^uint64(0), func(b, e uint64) { most = max(most, e-b) })
	return most
}

func joinIO(rows []*event.OffCPU, from, to uint64, visit func(b, e uint64)) {
	var start, stop uint64
	for _, o := range rows {
		if o.Class != event.BlockIO {
			continue
		}
		b, e := ledger.Blocked(o)
		b, e = max(b, from), min(e, to)
		switch {
		case b >= e:
		case stop != 0 && b <= stop+min(mergeGap, ^uint64(0)-stop):
			stop = max(stop, e)
		default:
			if stop != 0 {
				visit(start, stop)
			}
			start, stop = b, e
		}
	}
	if stop != 0 {
		visit(start, stop)
	}
}
