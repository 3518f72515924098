package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/report"
)

// claimBlockIO takes waits for the disk: the thread's own, and those of whoever
// it waited for.
func claimBlockIO(_ *scene, a *account) []piece {
	pieces := a.through(BlockIO)
	v := a.take(event.BlockIO, a.left[event.BlockIO])
	if v == 0 {
		return pieces
	}
	v += a.between(v)
	p := piece{acc: a, key: key{kind: BlockIO}, class: event.BlockIO, lost: v, explained: v, stall: min(longestIO(a.Rows), a.Duration)}
	for _, o := range a.Rows {
		if o.Class == event.BlockIO {
			p.count++
		}
	}
	if p.count == 0 && a.Ledger.Voluntary <= 2 {
		p.stall = v
	}
	return append(pieces, p)
}

// between is the time on a CPU that belongs to waits for the disk: filling the
// page cache, submitting and completing the requests. Only the short stretches
// between many waits are taken for that, and never more than the waits.
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
	return v // between calls, time on a CPU is nobody's loss yet
}

func tellBlockIO(s *scene, f *finding, c *report.Chain) {
	file := f.file()
	disk := "the disk"
	if file != "" {
		disk += " (" + file + ")"
	}
	const on = "block I/O"
	waited := f.explained
	t := f.root(s)
	if f.through() {
		who := s.who(t, f.sub.PID)
		waited = f.shown
		c.Summary = fmt.Sprintf("%s lost %s waiting for %s waited for the disk", f.process(s), f.pct(), f.behind(who))
		c.Cause.Detail = fmt.Sprintf("%s waited for %s", who, disk)
		c.Path = f.path(s, "blocked", on)
		c.Recommendations = []string{
			fmt.Sprintf("let %s write to a buffer under the lock, and to the file after unlocking", who),
			"or put the file on a faster device: the lock is held for as long as the disk takes",
		}
	} else {
		c.Summary = fmt.Sprintf("%s lost %s waiting for its own disk I/O %s", f.process(s), f.pct(), f.place())
		c.Cause.Detail = fmt.Sprintf("the thread waited for %s", disk)
		c.Path = []report.Step{f.step(s, "blocked", on, f.lost)}
		c.Recommendations = []string{
			fmt.Sprintf("write from another thread than %d, which launches the GPU's work; hand it the data", f.sub.TID),
			"or write less often, or without fsync where losing the file in a crash is acceptable",
		}
	}
	if file != "" {
		c.Recommendations = append(c.Recommendations, fmt.Sprintf("find the file: find / -xdev -inum %s", file[len("inode "):]))
	}
	c.Path = append(c.Path, report.Step{Layer: "IO", Process: s.name(t.PID, ""), PID: t.PID, TID: t.TID, Thread: s.comm(t), State: "blocked", On: disk, NS: waited})
}
